"""Counterexamples: instances on which a scheduler fails, as text of under thirty lines, file and picture."""

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

#: Most fields of an instance and of a plan in the text, and most characters of a line.
FIELDS, PLAN_FIELDS, WIDTH = 16, 5, 110


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """Instance and answer with a fault.

    Attributes:
        check: Name of the failed check.
        sentence: The fault.
        instance: The instance, or None.
        workload: The workload of a faulty run, or None.
        plan: The answer, or None.
        file: File of the saved instance.
        picture: File of the picture.
        second: Second answer to the same instance, of a scheduler that is not reproducible.
    """

    check: str
    sentence: str
    instance: Instance | None
    plan: Any = None
    file: Path | None = None
    picture: Path | None = None
    second: Any = None
    workload: Record | None = None

    def __str__(self) -> str:
        """Describe fault, instance, plan and files in under thirty lines."""
        lines = [_shorten_line(f"{self.check}: {self.sentence}", 3 * WIDTH)]
        if self.instance is not None:
            features = features_of(registry().problem(self.instance.problem), self.instance)
            which = f" ({', '.join(features)})" if features else ""
            lines += [
                _shorten_line(f"on this {self.instance.kind}{which}:", 3 * WIDTH),
                *_field_lines(self.instance, FIELDS),
            ]
        if self.workload is not None:
            lines += [f"in a run of this {self.workload.kind}:", *_field_lines(self.workload, FIELDS)]
        for begin, plan in (("with this", self.plan), ("and then with this", self.second)):
            if isinstance(plan, Plan):
                lines += [f"{begin} {plan.kind}:", *_field_lines(plan, PLAN_FIELDS)]
            elif plan is not None:
                lines.append(_shorten_line(f"{begin} answer: {plan!r}"))
        lines += [f"kept in {path}" for path in (self.file, self.picture) if path is not None]
        return "\n".join(lines)

    def saved_to(self, folder: str | Path, scheduler: str) -> Counterexample:
        """Save instance or workload, plan and, if possible, a picture; return the counterexample with its files."""
        from mlsched import api

        question = self.workload if self.instance is None else self.instance
        if question is None:
            return self
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]+", "-", f"{scheduler}-{self.check}")
        file = place / f"{name}.json"
        api.save(question, file)
        if self.instance is None:
            return dataclasses.replace(self, file=file)
        picture = None
        if isinstance(self.plan, self.instance.plan_type):
            api.save(self.plan, place / f"{name}.plan.json")
            if isinstance(self.second, self.instance.plan_type):
                api.save(self.second, place / f"{name}.second-plan.json")
            picture = self._draw_picture(place / f"{name}.png")
        return dataclasses.replace(self, file=file, picture=picture)

    def _draw_picture(self, path: Path) -> Path | None:
        """Draw a picture; return None without matplotlib, without a drawing function, or for a senseless plan."""
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


def _shorten_line(text: str, most: int = WIDTH) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= most else text[: most - 4] + " ..."


def _field_lines(record: Record, most: int) -> list[str]:
    """Return one line per field, without fields that are empty or equal to their default."""
    lines = []
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            if value.size and not bool((value == field.metadata.get("default")).all()):
                lines.append(_shorten_line(f"  {field.name} = {value.tolist()}"))
        elif value not in ((), "", field.default):
            lines.append(_shorten_line(f"  {field.name} = {value!r}"))
    hidden = len(lines) - most
    return lines if hidden <= 0 else [*lines[: most - 1], f"  ... and {hidden + 1} more fields"]
