"""Figures of a run in a time window: the jobs submitted in it, and the cluster during it.

Jobs before and after a window run and compete with the others, but are not counted. Neither an empty cluster at the
beginning nor the last stragglers affect the figures. Cluster figures (utilisation, queue) are means over the window's
time, of all jobs present.

The bounded slowdown is from Feitelson and Rudolph, "Metrics and Benchmarking for Parallel Job Scheduling" (JSSPP 1998).
The area-weighted response time is from Boezennec, Dufosse and Pallez, "Qualitatively Analyzing Optimization Objectives
in the Design of HPC Resource Manager" (2024).
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.brief import count_of, short_repr
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import FloatArray, IntArray

#: Running times are clipped from below at this many seconds when computing slowdowns.
SHORT_RUN = 10.0
PERCENTILES = (50, 90, 95, 99)
#: Attributes by which jobs can be grouped.
GROUPINGS = ("user", "group", "partition", "status", "size")
_SPANS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|min|h|d|w)?")


@dataclasses.dataclass(frozen=True)
class Window:
    """Time window [start, end) in seconds after the first submission of the run."""

    start: float
    end: float

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise InvalidInput(f"window: from {self.start:g} s to {self.end:g} s: must end after it begins")


def span(text: str | float) -> float:
    """Return the seconds of a duration: a number, or "90s", "30min", "12h", "7d", "2w"."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text)
    match = _SPAN.fullmatch(str(text).strip())
    if match is None:
        raise InvalidInput(f"{shorten(str(text))}: expected a length of time such as 7d, 12h, 30min or 3600 (seconds)")
    return float(match[1]) * _SPANS[match[2] or "s"]


def moment(workload: Any, text: str | float) -> float:
    """Return seconds after a run's first submission, of a duration since then or of a date if the log has dates.

    Both are times of the log; with scaled arrivals they scale too. A date without a zone is in UTC if the log's dates
    have zones.
    """
    rate = getattr(workload, "rate_ppm", 10**6) / 10**6
    try:
        return span(text) / rate
    except InvalidInput:
        pass
    try:
        when = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        raise InvalidInput(
            f"{shorten(str(text))}: expected a length of time since the first submit (7d, 12h) or a date "
            "(2024-03-01, 2024-03-01T08:00:00)"
        ) from None
    clock = getattr(workload, "clock", 0)
    if clock < 2:
        raise InvalidInput(
            f"{text}: the workload lacks dates; give a length of time since the first submit, such as 7d"
        )
    if when.tzinfo is not None and clock == 2:
        raise InvalidInput(f"{text}: the log's dates lack a time zone; leave it out")
    if when.tzinfo is not None:
        when = when.astimezone(datetime.UTC).replace(tzinfo=None)
    since = (when - datetime.datetime(1970, 1, 1)).total_seconds() - workload.origin_ms / 1000
    return float(since / rate)


def consecutive(length: float, within: Window) -> Iterator[Window]:
    """Yield consecutive windows of a given length, the first at the start of `within`; only complete ones."""
    start = within.start
    while start + length <= within.end + 1e-9 * length:
        yield Window(start, start + length)
        start += length


class Windows:
    """Figures of a run in time windows; the world must provide `table` and `over_time`."""

    def __repr__(self) -> str:
        return short_repr(self, count_of(len(self.submit), "job"))

    def __init__(self, run: Any) -> None:
        self.table, self.course = run.table(), run.over_time()
        self.unit = next(name for name in self.table if name.startswith("submit_")).removeprefix("submit_")
        self.times: FloatArray = np.asarray(self.course[f"time_{self.unit}"], dtype=np.float64)
        self.submit: FloatArray = self._table_column("submit")
        self.waiting, self.jct = self._table_column("waiting"), self._table_column("jct")
        self.gpus: FloatArray = np.asarray(self.table["gpus"], dtype=np.float64)

    def _table_column(self, name: str) -> FloatArray:
        return np.asarray(self.table[f"{name}_{self.unit}"], dtype=np.float64)

    def counted(self, window: Window) -> npt.NDArray[np.bool_]:
        """Return which jobs were submitted in the window, shape (jobs,)."""
        return np.asarray((self.submit >= window.start) & (self.submit < window.end))

    def figures(self, window: Window) -> dict[str, float | None]:
        """Return the figures of the window's jobs and of the cluster during it, by name."""
        figures = self._of_jobs(self.counted(window))
        for name, column in self.course.items():
            if name.startswith("utilisation_"):
                figures[name.replace("_", " ")] = self.mean_over(window, column)
        figures["queue"] = self.mean_over(window, self.course["waiting_jobs"])
        return figures

    def by(self, window: Window, grouping: str) -> dict[str, dict[str, float | None]]:
        """Return the figures of the window's jobs per group, the group with the most GPU time first.

        Args:
            window: Time window.
            grouping: "user", "group", "partition", "status" (if the log has it), or "size" (GPUs of a job).
        """
        is_counted = self.counted(window)
        names = self.sizes() if grouping == "size" else self._names(grouping)
        area = self.gpus * np.maximum(self.jct - self.waiting, 0.0)
        groups = [(name, is_counted & (names == name)) for name in np.unique(names[is_counted]).tolist()]
        if grouping == "size":
            groups.sort(key=lambda pair: float(self.gpus[pair[1]].min()))
        else:
            groups.sort(key=lambda pair: -float(area[pair[1]].sum()))
        return {str(name): self._of_jobs(rows) for name, rows in groups}

    def _names(self, grouping: str) -> npt.NDArray[Any]:
        if grouping not in GROUPINGS or grouping not in self.table:
            there = [name for name in GROUPINGS if name == "size" or name in self.table]
            raise InvalidInput(f"by: {shorten(grouping)}, expected one of {', '.join(there)}")
        return np.asarray(self.table[grouping]).astype(str)

    def sizes(self) -> npt.NDArray[Any]:
        """Return the size class of each job in words, shape (jobs,): shares, 1, 2, 3 to 4, 5 to 8, ..."""
        power = np.ceil(np.log2(np.maximum(self.gpus, 1e-9))).astype(int)
        words = []
        for gpus, exponent in zip(self.gpus.tolist(), power.tolist(), strict=True):
            high = 2 ** max(exponent, 0)
            low = high // 2 + 1
            many = (
                "no GPU" if gpus <= 0 else "a share of a GPU" if gpus < 1 else f"{high} GPUs" if high > 1 else "1 GPU"
            )
            words.append(many if gpus < 1 or low >= high else f"{low} to {high} GPUs")
        return np.array(words)

    def _of_jobs(self, rows: npt.NDArray[np.bool_]) -> dict[str, float | None]:
        """Return the figures of some of the jobs; None without jobs."""
        count = int(rows.sum())
        waiting, jct, gpus = self.waiting[rows], self.jct[rows], self.gpus[rows]
        running = np.maximum(jct - waiting, 0.0)
        area = gpus * running
        bounded_slowdown = np.maximum(jct / np.maximum(running, SHORT_RUN), 1.0)
        figures: dict[str, float | None] = {"jobs": float(count)}
        if not count:
            return figures
        figures["mean waiting"] = float(waiting.mean())
        figures |= _named_percentiles("waiting", waiting)
        figures["mean completion"] = float(jct.mean())
        figures |= _named_percentiles("completion", jct)
        figures["mean bounded slowdown"] = float(bounded_slowdown.mean())
        figures |= _named_percentiles("bounded slowdown", bounded_slowdown)
        figures["area-weighted response"] = float((area * jct).sum() / area.sum()) if area.any() else None
        figures["GPU hours"] = float(area.sum()) / 3600 if self.unit == "s" else float(area.sum())
        return figures

    def mean_over(self, window: Window, column: FloatArray | IntArray) -> float:
        """Return the time average of a column of `over_time` in the window; after its end the column is 0."""
        edges = np.clip(np.append(self.times, np.inf), window.start, window.end)
        return float((np.diff(edges) * np.asarray(column, dtype=np.float64)).sum() / (window.end - window.start))


def _named_percentiles(name: str, values: FloatArray) -> dict[str, float | None]:
    points = np.percentile(values, PERCENTILES)
    return {f"{name} p{p}": float(v) for p, v in zip(PERCENTILES, points, strict=True)}
