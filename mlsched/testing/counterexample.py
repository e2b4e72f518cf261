"""An instance on which a scheduler fails: in print in under thirty lines, as a file, and as a picture."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import MlschedError
from mlsched.core.record import Record
from mlsched.core.registry import registry
from mlsched.testing.combined import features_of

#: Most fields shown of an instance and of a plan, and most characters of a line.
FIELDS, PLAN_FIELDS, WIDTH = 16, 5, 110


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """What was asked and what was answered (None: nothing, or nothing that is a plan).

    second: the other answer to the same instance, of a scheduler that is not reproducible.
    """

    check: str
    sentence: str
    instance: Instance | None
    plan: Any = None
    file: Path | None = None
    picture: Path | None = None
    second: Any = None

    def __str__(self) -> str:
        """Under thirty lines: what is wrong, the instance, the plan, and where they are kept."""
        lines = [_cut(f"{self.check}: {self.sentence}", 3 * WIDTH)]
        if self.instance is not None:
            features = features_of(registry().problem(self.instance.problem), self.instance)
            which = f" ({', '.join(features)})" if features else ""
            lines += [_cut(f"on this {self.instance.kind}{which}:", 3 * WIDTH), *_fields(self.instance, FIELDS)]
        for begin, plan in (("with this", self.plan), ("and then with this", self.second)):
            if isinstance(plan, Plan):
                lines += [f"{begin} {plan.kind}:", *_fields(plan, PLAN_FIELDS)]
            elif plan is not None:
                lines.append(_cut(f"{begin} answer: {plan!r}"))
        lines += [f"kept in {path}" for path in (self.file, self.picture) if path is not None]
        return "\n".join(lines)

    def kept(self, folder: str | Path, scheduler: str) -> Counterexample:
        """The same, written to a folder: the instance, the plan beside it, and a picture where one can be drawn."""
        from mlsched import api

        if self.instance is None:
            return self
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]+", "-", f"{scheduler}-{self.check}")
        file = place / f"{name}.json"
        api.save(self.instance, file)
        picture = None
        if isinstance(self.plan, self.instance.plan_type):
            api.save(self.plan, place / f"{name}.plan.json")
            if isinstance(self.second, self.instance.plan_type):
                api.save(self.second, place / f"{name}.second-plan.json")
            picture = self._drawn(place / f"{name}.png")
        return dataclasses.replace(self, file=file, picture=picture)

    def _drawn(self, path: Path) -> Path | None:
        """A picture; None without matplotlib, where the problem has none, and where the plan makes no sense."""
        assert self.instance is not None
        problem = registry().problem(self.instance.problem)
        if problem.draw is None or type(self.instance) is not problem.instance_type:
            return None
        with contextlib.suppress(ImportError, MlschedError, IndexError, ValueError):
            from matplotlib.figure import Figure

            figure = Figure(layout="constrained")
            problem.draw(self.instance, self.plan, figure.subplots())
            figure.savefig(path)
            return path
        return None


def _cut(text: str, most: int = WIDTH) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= most else text[: most - 4] + " ..."


def _fields(record: Record, most: int) -> list[str]:
    """A line a field; those that are empty or as they are by default say nothing and are left out."""
    shown = []
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            if value.size and not bool((value == field.metadata.get("default")).all()):
                shown.append(_cut(f"  {field.name} = {value.tolist()}"))
        elif value not in ((), "", field.default):
            shown.append(_cut(f"  {field.name} = {value!r}"))
    hidden = len(shown) - most
    return shown if hidden <= 0 else [*shown[: most - 1], f"  ... and {hidden + 1} more fields"]
