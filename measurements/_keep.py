"""Rows of a long measurement, kept in a file of JSON lines as they are made, so that an interrupted run resumes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Kept:
    """Rows by name. Several runs may share a file, each making rows of its own. path: None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
        self._rows: dict[str, Any] = {line["name"]: line["row"] for line in map(json.loads, lines)}

    def row(self, name: str, make: Callable[[], Any]) -> Any:
        """The row of this name as it was kept, otherwise as it is made now."""
        if name not in self._rows:
            self._rows[name] = make()
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"name": name, "row": self._rows[name]}) + "\n")
        return self._rows[name]
