"""Folder of a reference: its claims (manifest), prices that prove its bound, and the schedule with its value.

    manifest.json     which log and cluster (the workload's hash), what is allowed and counted, bound, value, versions
    prices.json.gz    integer prices: intervals of `step` ticks from `start` on, `bits`, a list per resource
    schedule.json.gz  without pauses: of each job the ticks that it waits and the nodes of its tasks; else the segments

Its content is untrusted: `checked` recomputes both sides from the workload.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.certificates.prices import intervals
from mlsched.core import foreign, html
from mlsched.core.aliases import Data
from mlsched.core.brief import count_of, short_repr
from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.files import atomic_write, read_json, write_json
from mlsched.core.record import defaults, without_defaults_of
from mlsched.core.safe_open import gunzipped, read_bytes, shown_path
from mlsched.simulation.log import integers, lists
from mlsched.simulation.taskgraph.iterations import outcome, replay
from mlsched.simulation.taskgraph.iterations.log import Segments
from mlsched.simulation.taskgraph.iterations.options import Options
from mlsched.simulation.taskgraph.iterations.reference import proof
from mlsched.simulation.taskgraph.iterations.reference.question import as_log, question
from mlsched.simulation.taskgraph.iterations.workload import Jobs
from mlsched.simulation.wake import Wake

KIND, VERSION = "taskgraph.reference", 1
MANIFEST, PRICES, SCHEDULE = "manifest.json", "prices.json.gz", "schedule.json.gz"
UNFINISHED = {PRICES, SCHEDULE}
#: Most bytes of a file's content, and most values in it: an empty list or object takes 72 bytes of memory.
MOST_PRICES, MOST_SCHEDULE, MOST_VALUES = 2**25, 2**26, 6_000_000
#: Intervals of prices; references of 82,000 jobs have 32,768.
MOST_INTERVALS = 2**17
NO_END = Deadline()
#: Upper limit of a manifest's numbers; sums of logs are far below it.
MOST_CLAIMED = 2**100


@dataclasses.dataclass(frozen=True)
class Reference:
    """Interval for the best schedule of a workload: all have at least `bound`, and one has `value`.

    Both numbers are weighted sums of completion - arrival, ticks.

    Attributes:
        workload_hash: Hash of its inputs (`proof.identity`), independent of the path of the log's file.
        pausing: Jobs may pause (and continue elsewhere).
        weights: Weights of the jobs' completion times (`proof.WEIGHTS`).
        how: Method that made the schedule.
        moves: Number of moves of the search; with pauses, the rules that were run count as well, and the list.
    """

    workload_hash: str
    source: str
    cluster: str
    jobs: int
    pausing: bool
    weights: str
    bound: int
    value: int
    how: str
    seed: int
    moves: int
    cpu_seconds: float
    versions: dict[str, str]
    log_options: Data

    def __repr__(self) -> str:
        interval = f"bound {self.bound}, schedule {self.value} ticks, {100 * self.width:.1f} % above"
        return short_repr(self, f"{count_of(self.jobs, 'job')} on {self.cluster}", interval, f"weights {self.weights}")

    def _repr_html_(self) -> str:
        """Render the interval and its subject for notebooks."""
        above = f"{100 * self.width:.2f} %"
        unit = "ticks" if self.weights == "jobs" else f"ticks x weight, by {self.weights}"
        rows: list[list[Any]] = [["bound", self.bound], ["schedule", self.value], ["above the bound", above]]
        facts = [f"{count_of(self.jobs, 'job')} on {self.cluster}", self.source, "may pause" if self.pausing else ""]
        return html.titled_block("reference", facts, html.html_table(["", unit], rows))

    @property
    def width(self) -> float:
        """Return the gap of the schedule to the bound, as a share of it."""
        return (self.value - self.bound) / self.bound if self.bound else 0.0

    def losses(self, value: int) -> tuple[float, float]:
        """Return the least and largest loss of a schedule of this value against the best one, as shares."""
        least = max(0.0, (value - self.value) / self.value) if self.value else 0.0
        return least, (value - self.bound) / self.bound if self.bound else 0.0


def total(jobs: Jobs, log: Segments, weights: str) -> int:
    """Return the weighted sum of completion - arrival of a log."""
    jct = outcome.jobs(jobs, log)["jct"]
    return sum(w * t for w, t in zip(proof.weights(jobs, weights).tolist(), jct.tolist(), strict=True))


def write_reference(folder: Path, claim: Reference, prices: intervals.Prices | None, schedule: Data | None) -> None:
    """Write a reference's files, the manifest last; None keeps the existing file."""
    folder.mkdir(parents=True, exist_ok=True)
    if prices is not None:
        values = [column.tolist() for column in prices.values.T]
        _write_packed(
            folder / PRICES, {"start": prices.start, "step": prices.step, "bits": prices.bits, "values": values}
        )
    if schedule is not None:
        _write_packed(folder / SCHEDULE, schedule)
    write_json(
        folder / MANIFEST, {"kind": KIND, "version": VERSION, **without_defaults_of(claim, dataclasses.asdict(claim))}
    )


def _write_packed(path: Path, data: dict[str, Any]) -> None:
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    with atomic_write(path, "wb") as stream:
        stream.write(gzip.compress(text, mtime=0))


def _read_packed(path: Path, most: int) -> Data:
    text = gunzipped(path, read_bytes(path, most=most), most=most)
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise InvalidFile(f"{shown_path(path)}: has more than {MOST_VALUES} values; make the reference again")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{shown_path(path)}: is not JSON ({str(error)[:60]}); make the reference again") from None
    if not isinstance(data, dict):
        raise InvalidFile(f"{shown_path(path)}: expected a JSON object; make the reference again")
    return data


def claimed(folder: Path) -> Reference:
    """Return the claims of a reference."""
    path = folder / MANIFEST
    data = read_json(path)
    if data.pop("kind", None) != KIND:
        raise InvalidFile(
            f"{shown_path(path)}: is not a manifest of a reference; `mlsched reference -o FOLDER` makes one"
        )
    if data.pop("version", None) != VERSION:
        raise InvalidFile(f"{shown_path(path)}: is of another version; use a newer mlsched")
    kinds: dict[str, type | tuple[type, ...]] = {
        **dict.fromkeys(("workload_hash", "source", "cluster", "weights", "how"), str),
        **dict.fromkeys(("jobs", "bound", "value", "seed", "moves"), int),
        "pausing": bool,
        "cpu_seconds": (int, float),
        "versions": dict,
        "log_options": dict,
    }
    data = defaults(Reference) | data
    for name in kinds | data:
        if name not in kinds or not isinstance(data.get(name), kinds[name]):
            raise InvalidFile(f"{shown_path(path)}: {name}: is missing, unknown or of the wrong type")
        if kinds[name] is int and not (type(data[name]) is int and 0 <= data[name] < MOST_CLAIMED):
            raise InvalidFile(f"{shown_path(path)}: {name}: expected an integer from 0 on, below 2^100")
    if not 0 <= data["cpu_seconds"] < MOST_CLAIMED:
        raise InvalidFile(f"{shown_path(path)}: cpu_seconds: expected a number from 0 on, below 2^100")
    for name in data:
        foreign.check_plain(data[name], f"{shown_path(path)}: {name}")
    if data["weights"] not in proof.WEIGHTS:
        raise InvalidFile(f"{shown_path(path)}: weights: there are {', '.join(proof.WEIGHTS)}")
    return Reference(**data)


def stored_prices(folder: Path) -> intervals.Prices:
    """Return the prices of a reference."""
    path = folder / PRICES
    data = _read_packed(path, MOST_PRICES)
    try:
        start, step, bits = integers([data.get(name) for name in ("start", "step", "bits")], "start, step and bits", 3)
        columns = lists(data.get("values"), "values")
        if any(len(column) > MOST_INTERVALS for column in columns):
            raise InvalidInput(f"values: expected at most {MOST_INTERVALS} intervals")
        of_ints = all(type(v) is int and abs(v) < 2**63 for c in columns for v in c)
        if len({len(column) for column in columns}) != 1 or not of_ints:
            raise InvalidInput("values: expected lists of integers below 2^63, of one length")
        values = np.array(columns, dtype=np.int64).T.reshape(-1, len(columns))
    except (InvalidInput, TypeError) as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None
    if not 0 <= bits <= 60:
        raise InvalidFile(f"{shown_path(path)}: bits: {bits}, expected 0 to 60")
    return intervals.Prices(start, step, bits, values)


def waits_of(jobs: Jobs, start: IntArray, places: list[list[int]]) -> Data:
    """Return a schedule without pauses in the form of its file."""
    return {"wait": (start - jobs.arrival).tolist(), "places": places}


def starts_of(folder: Path, jobs: Jobs) -> tuple[list[int], list[list[int]]]:
    """Return the starts and the nodes of the tasks, the largest first, of a stored schedule without pauses."""
    path = folder / SCHEDULE
    data = _read_packed(path, MOST_SCHEDULE)
    try:
        wait = integers(data.get("wait"), "wait", len(jobs.arrival))
        places = [list(integers(row, "places")) for row in lists(data.get("places"), "places")]
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None
    widths = [end - first for first, end in jobs.tasks]
    nodes = len(jobs.node_capacity)
    sound = len(places) == len(wait) and all(
        len(row) == widths[kind] and all(0 <= node < nodes for node in row)
        for row, kind in zip(places, jobs.template.tolist(), strict=True)
    )
    if not sound or min(wait, default=0) < 0:
        raise InvalidFile(f"{shown_path(path)}: expected for each job a wait >= 0 and a node for each task")
    return [int(a) + w for a, w in zip(jobs.arrival.tolist(), wait, strict=True)], places


def stored_log(folder: Path, jobs: Jobs, claim: Reference) -> Segments:
    """Return the schedule of a reference as a log of the world."""
    if claim.pausing:
        path = folder / SCHEDULE
        data = _read_packed(path, MOST_SCHEDULE)
        try:
            return Segments.from_json(data)
        except InvalidInput as error:
            raise InvalidFile(f"{shown_path(path)}: {error}") from None
    start, places = starts_of(folder, jobs)
    return as_log(question(jobs, proof.weights(jobs, claim.weights)), np.array(start, dtype=np.int64), places)


def options(pausing: bool) -> Options:
    """Return the world's options in a reference."""
    return Options(pausing="keep" if pausing else "none")


def other_simulator(jobs: Jobs, given: Options, claim: Reference) -> str:
    """Describe how a run's options (`given`) differ from those of a reference; "" if they agree.

    A schedule of another world is unrelated to the best one in the run's.
    """
    own = options(claim.pausing)
    if (given.pausing != "none") != claim.pausing:
        return f"the reference {'lets' if claim.pausing else 'does not let'} jobs pause, other than the run"
    if given.pausing == "restart":
        return "the run's jobs lose their work at a pause, those of the reference keep it"
    if given.usage != own.usage:
        return "the run draws what tasks use, in the reference they use what they demand"
    mine, theirs = jobs.moving(given.pausing, given.movement), jobs.moving(own.pausing, own.movement)
    if mine != theirs:
        return f"movement is '{mine}' in the run, '{theirs}' in the reference"
    return "nodes fail in the run, and not in the reference" if len(jobs.failure_node) else ""


def checked(folder: Path, jobs: Jobs, deadline: Deadline = NO_END) -> tuple[Reference, dict[str, int], list[str]]:
    """Return a reference's claims, the recomputed values, and the violations.

    The values are `bound`, and `value` if the schedule is valid.

    Raises:
        OutOfTime: The deadline has passed.
    """
    claim = claimed(folder)
    if claim.workload_hash != proof.identity(jobs):
        return claim, {}, [f"it is of another log, cluster or reading: {claim.source} on {claim.cluster}"]
    weighted_pieces = proof.weighted(jobs, proof.weights(jobs, claim.weights))
    prices = stored_prices(folder)
    if prices.values.shape[1] != len(weighted_pieces.capacity):
        return (
            claim,
            {},
            [f"the prices are of {prices.values.shape[1]} resources, there are {len(weighted_pieces.capacity)}"],
        )
    count = len(jobs.arrival)
    wrong = [] if claim.jobs == count else [f"there are {count_of(count, 'job')}, {claim.jobs} are claimed"]
    try:
        bound = intervals.proven(
            proof.checked_jobs(weighted_pieces), prices, pausing=claim.pausing, look=deadline.check
        )
    except (ValueError, OverflowError) as error:
        return claim, {}, [f"the prices prove nothing: {error}"]
    if bound < claim.bound:
        wrong.append(f"the prices prove {bound}, {claim.bound} is claimed")
    log = stored_log(folder, jobs, claim)
    deadline.check()
    if broken := replay.violations(jobs, options(claim.pausing), Wake.parse("events"), log):
        return claim, {"bound": bound}, wrong + broken  # such a log may name unknown jobs
    value = total(jobs, log, claim.weights)
    if value > claim.value:
        wrong.append(f"the schedule has {value}, {claim.value} is claimed")
    return claim, {"bound": bound, "value": value}, wrong
