"""Public scheduling instances as task graphs: STG (`.stg`), PSPLIB (`.sm`) and job shop (`.txt`).

All three are special cases with published optimal makespans. P|prec|Cmax is one job on nodes of one processor each. The
resource-constrained project (RCPSP) is one job on one node. In the job shop, the tasks of jobs have one eligible node
each. Every job runs one iteration, without deadline, traffic or accuracy. A bad file is rejected in one line that names
file and line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from mlsched.core.contract import Reader
from mlsched.core.errors import InvalidFile, InvalidInput, shorten
from mlsched.core.fields import UNLIMITED, IntArray, ints
from mlsched.core.params import check_range, check_size
from mlsched.core.safe_open import read_text, shown_path
from mlsched.instances.taskgraph.instance import Instance

#: Far more than any published instance has; a larger number in a file is a mistake, not a reason to fill the memory.
MOST = 1_000_000


def read_stg(path: str | os.PathLike[str], *, processors: int = 0) -> Instance:
    """Read a Standard Task Graph for a number of identical `processors` (required: the file lacks it).

    Lines: the number of tasks between the dummies 0 and n + 1; then task, duration, number of predecessors,
    predecessors. Tasks keep their numbers, the dummies included.
    """
    if processors == 0:
        raise InvalidInput(f"{path}: the number of machines is missing; give processors=4, for example")
    check_range("processors", processors, 1, MOST)
    lines = _Lines(path)
    count = lines.next_integers("the number of tasks", 1)[0]
    if not 0 <= count <= MOST:
        raise lines.error_at_line(f"{count} tasks: expected between 0 and {MOST}")
    duration, edges = [], []
    for task in range(count + 2):
        row = lines.next_integers(f"task {task} (of 0 to {count + 1})", 3, more=True)
        if row[0] != task:
            raise lines.error_at_line(f"task {row[0]}: expected {task}, tasks come in order")
        if row[2] != len(row) - 3:
            raise lines.error_at_line(f"task {task} announces {row[2]} predecessors and names {len(row) - 3}")
        duration.append(lines.check_amount(row[1], "duration"))
        edges += [(lines.check_index(u, count + 2, "predecessor"), task) for u in row[3:]]
    lines.expect_end("the last task")
    check_size(f"{lines.path}: tasks x processors", len(duration) * processors)
    return _instance(
        lines,
        ("processor",),
        np.ones((processors, 1), dtype=np.int64),
        [0] * len(duration),
        duration,
        [[int(d > 0)] for d in duration],
        None,
        edges,
    )


def read_jobshop(path: str | os.PathLike[str]) -> Instance:
    """Read a job shop: "jobs machines", then a line per job of "machine duration" pairs, machines from 0."""
    lines = _Lines(path)
    jobs, machines = lines.next_integers("the numbers of jobs and machines", 2)
    if not (1 <= machines <= MOST and 0 <= jobs <= MOST):
        raise lines.error_at_line(f"{jobs} jobs on {machines} machines: expected at least 0 and 1, at most {MOST}")
    task_job: list[int] = []
    duration: list[int] = []
    hosts: list[int] = []
    edges: list[tuple[int, int]] = []
    for job in range(jobs):
        row = lines.next_integers(f"job {job} (of 0 to {jobs - 1})", 2, more=True)
        if len(row) % 2:
            raise lines.error_at_line(f"job {job} has {len(row)} numbers, expected pairs of machine and duration")
        for step in range(0, len(row), 2):
            if step:
                edges.append((len(duration) - 1, len(duration)))
            hosts.append(lines.check_index(row[step], machines, "machine"))
            duration.append(lines.check_amount(row[step + 1], "duration"))
            task_job.append(job)
    lines.expect_end("the last job")
    check_size(f"{lines.path}: tasks x machines", len(hosts) * machines)
    eligible = np.zeros((len(hosts), machines), dtype=np.int64)
    eligible[np.arange(len(hosts)), hosts] = 1
    return _instance(
        lines,
        ("machine",),
        np.ones((machines, 1), dtype=np.int64),
        task_job,
        duration,
        [[1]] * len(hosts),
        eligible,
        edges,
        _names_of_steps(task_job),
    )


def read_psplib(path: str | os.PathLike[str]) -> Instance:
    """Read a project of PSPLIB: tasks with one mode each and renewable resources, on one node that has them all.

    Tasks are numbered from 0, so PSPLIB's job 1 (the source) is task 0; its name is "1".
    """
    lines = _Lines(path)
    count = lines.announced("jobs (incl. supersource/sink )")
    renewable = lines.announced("- renewable")
    for kind in ("- nonrenewable", "- doubly constrained"):
        if lines.announced(kind):
            raise lines.error_at_line(f"{kind[2:]} resources: only renewable ones can be read")
    lines.find_section("PRECEDENCE RELATIONS", skip=1)
    edges = []
    for task in range(count):
        row = lines.next_integers(f"the successors of job {task + 1}", 3, more=True)
        if row[0] != task + 1 or row[1] != 1 or row[2] != len(row) - 3:
            raise lines.error_at_line(f"expected job {task + 1}, 1 mode, the number of successors, and the successors")
        edges += [(task, lines.check_index(v - 1, count, "successor", shift=1)) for v in row[3:]]
    lines.find_section("REQUESTS/DURATIONS", skip=2)
    duration, demand = [], []
    for task in range(count):
        row = lines.next_integers(f"the requests of job {task + 1}", 3 + renewable)
        if row[0] != task + 1 or row[1] != 1:
            raise lines.error_at_line(f"expected job {task + 1} in mode 1")
        duration.append(lines.check_amount(row[2], "duration"))
        demand.append([lines.check_amount(r, "request") for r in row[3:]])
    lines.find_section("RESOURCEAVAILABILITIES", skip=1)
    capacity = np.array([lines.next_integers("the availabilities", renewable)], dtype=np.int64).reshape(1, renewable)
    names = tuple(f"R{r + 1}" for r in range(renewable))
    called = tuple(str(task + 1) for task in range(count))
    return _instance(lines, names, capacity, [0] * count, duration, demand, None, edges, called)


def _names_of_steps(task_job: list[int]) -> tuple[str, ...]:
    """Return the names of the tasks of a job shop: job and step, both from 0, as in "3.1"."""
    count: dict[int, int] = {}
    names = []
    for job in task_job:
        names.append(f"{job}.{count.setdefault(job, 0)}")
        count[job] += 1
    return tuple(names)


class _Lines:
    """The lines of a text file, read as integers in order; errors name file and line."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.at = shown_path(path), 0
        text = read_text(path)
        check_size(f"{self.path}: lines", text.count("\n"))
        self.lines = text.splitlines()

    def error_at_line(self, sentence: str) -> InvalidFile:
        return InvalidFile(f"{self.path}, line {self.at}: {sentence}")

    def _following(self) -> Iterator[str]:
        """Yield the remaining lines that are neither empty nor a comment (#)."""
        while self.at < len(self.lines):
            self.at += 1
            text = self.lines[self.at - 1].strip()
            if text and not text.startswith("#"):
                yield text

    def next_integers(self, what: str, count: int, more: bool = False) -> list[int]:
        """Return the integers of the next line, exactly `count`, or at least `count` with `more`."""
        text = next(self._following(), None)
        if text is None:
            raise self.error_at_line(f"the file ends here; {what} should follow")
        words = text.split()
        numbers = []
        for word in words:
            digits = word.removeprefix("-")
            if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
                raise self.error_at_line(f"{word[:20]!r} is not an integer, expected {what}")
            numbers.append(int(word))
        if len(numbers) != count and not (more and len(numbers) > count):
            raise self.error_at_line(f"{len(numbers)} numbers: {what} needs {'at least ' if more else ''}{count}")
        return numbers

    def expect_end(self, what: str) -> None:
        """Refuse anything but comments from here on."""
        if next(self._following(), None) is not None:
            raise self.error_at_line(f"unexpected after {what}")

    def announced(self, label: str) -> int:
        """Return the integer after "label :" on some remaining line."""
        for text in self._following():
            name, colon, rest = text.partition(":")
            if colon and name.strip() == label:
                word = (rest.split() or [""])[0]
                if not (word.isascii() and word.isdigit() and len(word) <= 18 and int(word) <= MOST):
                    raise self.error_at_line(f"{label}: {shorten(word)!r}: expected an integer between 0 and {MOST}")
                return int(word)
        raise self.error_at_line(f"the file ends without '{label}'")

    def find_section(self, title: str, skip: int) -> None:
        """Advance to the section `title`, past `skip` lines of headings."""
        for text in self._following():
            if text.startswith(title):
                self.at += skip
                return
        raise self.error_at_line(f"the file ends without the section {title}")

    def check_amount(self, number: int, what: str) -> int:
        if not 0 <= number <= UNLIMITED:
            raise self.error_at_line(f"{what} {number}: expected between 0 and {UNLIMITED}")
        return number

    def check_index(self, number: int, count: int, what: str, shift: int = 0) -> int:
        if not 0 <= number < count:
            raise self.error_at_line(f"{what} {number + shift}: expected between {shift} and {count - 1 + shift}")
        return number


def _instance(
    lines: _Lines,
    resources: tuple[str, ...],
    capacity: IntArray,
    task_job: list[int],
    duration: list[int],
    demand: list[list[int]],
    eligible: IntArray | None,
    edges: list[tuple[int, int]],
    task_names: tuple[str, ...] = (),
) -> Instance:
    """Build jobs of one iteration whose objective is only their completion."""
    jobs = max(task_job, default=-1) + 1
    tasks = len(duration)
    nothing = ints([0] * len(edges))
    fields: dict[str, Any] = {
        "arrival": ints([0] * jobs),
        "deadline": ints([UNLIMITED] * jobs),
        "urgency": ints([1] * jobs),
        "required": ints([0] * jobs),
        "min_iterations": ints([1] * jobs),
        "max_iterations": ints([1] * jobs),
        "accuracy": np.zeros((jobs, 2), dtype=np.int64),
        "task_job": ints(task_job),
        "duration": ints(duration),
        "demand": np.array(demand, dtype=np.int64).reshape(tasks, len(resources)),
        "eligible": np.ones((tasks, len(capacity)), dtype=np.int64) if eligible is None else eligible,
        "parameters": ints([0] * tasks),
        "edge_from": ints(u for u, _ in edges),
        "edge_to": ints(v for _, v in edges),
        "edge_lag": nothing,
        "edge_volume": nothing,
        "edge_delay": nothing,
        "task_names": task_names,
    }
    try:
        return Instance(resources=resources, node_capacity=capacity, **fields)
    except InvalidInput as error:
        raise InvalidFile(f"{lines.path}: {error}") from None


#: Suffix of a file -> its reader.
READERS = {
    ".stg": Reader(read_stg, "makespan"),
    ".sm": Reader(read_psplib, "makespan"),
    ".txt": Reader(read_jobshop, "makespan"),
}

__all__ = ["READERS", "read_jobshop", "read_psplib", "read_stg"]
