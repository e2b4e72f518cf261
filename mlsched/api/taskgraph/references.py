"""References: the interval of the best schedule of a log, with a certificate that anyone can check."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from mlsched.api.runs import simulate
from mlsched.certificates.prices import intervals
from mlsched.core.arguments import validate_arguments
from mlsched.core.clock import cpu_time
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import InvalidInput, one_line
from mlsched.core.fields import IntArray
from mlsched.core.params import Positive, Range, Seed
from mlsched.core.versions import versions
from mlsched.simulation import Run
from mlsched.simulation.bound.completion import OF_REFERENCES, OF_RUNS, climbed
from mlsched.simulation.bound.parts import earliest_end
from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.taskgraph.iterations import Jobs
from mlsched.simulation.taskgraph.iterations.log import Segments
from mlsched.simulation.taskgraph.iterations.reference import folder as files
from mlsched.simulation.taskgraph.iterations.reference import proof, ranks, search
from mlsched.simulation.taskgraph.iterations.reference.folder import Reference
from mlsched.simulation.taskgraph.iterations.reference.listed import Schedule
from mlsched.simulation.taskgraph.iterations.reference.question import Question, as_log, log_of, question

#: Default number of moves of the neighbourhood search.
MOVES = 5000
#: With pauses, a change of ranks replays the complete log, and takes about as long as this many moves.
MOVES_PER_CHANGE = 100
#: Rules whose best run is the reference if jobs pause, but cannot move freely, or start in parts.
WITH_PAUSES = ("srpt:preempt=true", "srpt:size=time,preempt=true")
#: Moves after which an interrupted search can resume.
SAVE_INTERVAL = 1000

Progress = Callable[[str, int, int], bool]


@validate_arguments
def make_reference(
    workload: Jobs,
    folder: str | os.PathLike[str],
    *,
    pausing: bool = False,
    weights: str = "jobs",
    moves: Annotated[int, Range(0)] = MOVES,
    seed: Seed = 0,
    log_options: Mapping[str, str | Mapping[str, str] | bool | int | None] | None = None,
    progress: Progress | None = None,
) -> Reference:
    """Bound the best schedule of a log's workload from both sides; write prices, schedule and claim to a folder.

    A folder with a reference of the same workload is recomputed and continued: its schedule never gets worse.

    Args:
        workload: A log's workload from `workload` (task graphs by iterations).
        folder: Target of the reference.
        pausing: Whether jobs may pause, and resume elsewhere, at their `pause_cost`. The bound then covers pauses. In
            the schedule, jobs run by rank, and smaller ones move to other nodes if a larger one does not fit. If a
            schedule without pauses can be better, it is searched as well.
        weights: Weight of a job's completion time ("jobs", "area", "urgency", "class").
        moves: Moves of the search without pauses, each of which exchanges a few jobs. With pauses, ranks are changed
            once per hundred moves.
        seed: Random seed of these changes, an integer >= 0.
        log_options: Options of the log reader, for the manifest.
        progress: Called with (stage, moves, value) during the work; returning True ends it and keeps the best schedule.

    Returns:
        The claim in the folder.

    Raises:
        InvalidInput: The workload is not from a log, or the folder belongs to another workload or is invalid.

    Examples:
        >>> work = mlsched.workload("synthetic:gangs", jobs=8)
        >>> reference = mlsched.make_reference(work, "reference", moves=20)
        >>> reference.bound <= reference.value
        True
    """
    if not isinstance(workload, Jobs):
        raise InvalidInput("reference: is for logs of jobs and their like (task graphs by iterations)")
    if len(workload.failure_node):
        raise InvalidInput("reference: nodes fail in this workload; leave the failures out")
    target, started = Path(folder), cpu_time()
    progress = progress or (lambda stage, made, value: False)
    weight = proof.weights(workload, weights)
    existing = _claim_in(target, workload, pausing, weights)
    asked = proof.weighted(workload, weight)
    claim = _claim(workload, existing, pausing, weights, int(seed), dict(log_options or {}))
    prices = None
    if existing is None:
        climb = climbed(asked, earliest_end(asked), pausing=pausing, effort=OF_REFERENCES[pausing])
        prices, bound = proof.rounded(asked, climb, pausing)
        claim = dataclasses.replace(claim, bound=bound)
        progress("bound", 0, bound)
    writer = _FolderWriter(target, claim, prices, started)
    work = _Work(workload, weight, asked, existing, moves, writer, progress)
    (_with_pauses if pausing else _without_pauses)(work)
    return writer.claim


def _claim(
    workload: Jobs, before: Reference | None, pausing: bool, weights: str, seed: int, reading: dict[str, Any]
) -> Reference:
    """Return the claim before the work begins: the one in the folder, or an empty one.

    Args:
        workload: The workload.
        before: The claim in the folder, if any.
        pausing: Whether jobs may pause.
        weights: Weights of completion times.
        seed: Random seed.
        reading: Options of the log reader.
    """
    return Reference(
        workload_hash=proof.identity(workload),
        source=one_line(proof.said(workload.source)),
        cluster=one_line(workload.cluster),
        jobs=len(workload.arrival),
        pausing=pausing,
        weights=weights,
        bound=0 if before is None else before.bound,
        value=0 if before is None else before.value,
        how="" if before is None else before.how,
        seed=seed,
        moves=0 if before is None else before.moves,
        cpu_seconds=0.0 if before is None else before.cpu_seconds,
        versions=versions(),
        log_options=reading,
    )


class _FolderWriter:
    """Writer of the folder: it saves every improvement, and new prices once."""

    def __init__(self, target: Path, claim: Reference, prices: intervals.Prices | None, begun: float) -> None:
        self.target, self.claim, self._prices = target, claim, prices
        self._begun = begun - claim.cpu_seconds

    def keep(self, value: int, how: str, made: int, schedule: dict[str, Any] | None) -> None:
        """Write the claim and the schedule.

        Args:
            value: Value of the schedule.
            how: How the schedule was found, in words.
            made: Moves until then.
            schedule: The schedule; None leaves the one in the folder.
        """
        seconds = round(cpu_time() - self._begun, 1)
        self.claim = dataclasses.replace(self.claim, value=value, how=how, moves=made, cpu_seconds=seconds)
        files.write_reference(self.target, self.claim, self._prices, schedule)
        self._prices = None


@dataclasses.dataclass(frozen=True)
class _Work:
    """One reference to compute: the weighted workload, the claim in the folder, the moves, and the callback."""

    workload: Jobs
    weight: IntArray
    pieces: Pieces
    before: Reference | None
    moves: int
    kept: _FolderWriter
    told: Progress


def _without_pauses(work: _Work) -> None:
    """Build a list by prices, and search from it, or from the schedule in the folder."""
    instance, writer = question(work.workload, work.weight), work.kept
    stored = None
    if work.before is not None:
        stored = search.on_board(instance, *files.starts_of(writer.target, work.workload))

    def keep_schedule(schedule: Schedule, how: str, made: int) -> None:
        writer.keep(instance.value(schedule[0]), how, made, files.waits_of(work.workload, schedule[0], schedule[1]))

    _search_from(work, instance, stored, keep_schedule, moves_before=writer.claim.moves)


def _search_from(
    work: _Work,
    instance: Question,
    schedule: Schedule | None,
    keep_schedule: Callable[[Schedule, str, int], None],
    *,
    moves_before: int,
) -> None:
    """Search from a schedule until all moves are made; without a schedule, build a list by prices first.

    Args:
        work: The reference to compute.
        instance: The jobs and nodes.
        schedule: Schedule to start from.
        keep_schedule: Called with (schedule, how, moves) for each schedule to keep; they never get worse.
        moves_before: Moves made before.
    """
    if schedule is None:
        schedule = search.first_schedule(instance, work.pieces, work.told)
        keep_schedule(schedule, "a list after prices", 0)
    stop = False
    while moves_before < work.moves and not stop:
        batch = min(SAVE_INTERVAL, work.moves - moves_before)

        def report_moves(stage: str, moves_made: int, value: int, moves_before: int = moves_before) -> bool:
            nonlocal stop
            stop = stop or work.told(stage, moves_before + moves_made, value)
            return stop

        schedule, moves_made = search.search(schedule, batch, work.kept.claim.seed + moves_before, report_moves)
        stop = stop or moves_made < batch
        moves_before += moves_made
        keep_schedule(schedule, "a list after prices, and a neighbourhood search", moves_before)


def _claim_in(target: Path, workload: Jobs, pausing: bool, weights: str) -> Reference | None:
    """Return the claim in a folder, or None; raise InvalidInput if it belongs to something else."""
    if not (target / files.MANIFEST).exists():
        # Prices or a schedule without a manifest are the remains of an aborted write: the reference is computed again.
        if target.exists() and (not target.is_dir() or {entry.name for entry in target.iterdir()} - files.UNFINISHED):
            raise InvalidInput(f"{target}: exists and is not a reference; give another folder")
        return None
    claim = files.claimed(target)
    same = (claim.workload_hash, claim.pausing, claim.weights) == (proof.identity(workload), pausing, weights)
    if not same:
        raise InvalidInput(f"{target}: is a reference of another log, cluster or question; give another folder")
    if faults := files.checked(target, workload)[2]:
        raise InvalidInput(f"{target}: does not hold: {faults[0]}; give another folder")
    return claim


def _with_pauses(work: _Work) -> None:
    """Keep the best of schedules by ranks and, if that can be better, of schedules without pauses.

    If jobs cannot move freely, or start in parts, runs of rules replace the ranks. With more moves than before
    (`claim.moves`), all work is repeated, and the schedule in the folder is kept unless a better one is found.
    """
    workload, before, writer, moves, report_progress = work.workload, work.before, work.kept, work.moves, work.told
    claim = writer.claim
    best = None if before is None else (before.value, before.how)
    stop = False

    def better(value: int, how: str, moves_made: int, log: Callable[[], Segments]) -> None:
        nonlocal best
        new = best is None or value < best[0]
        best = (value, how) if best is None or new else best
        writer.keep(*best, max(claim.moves, moves_made), log().to_json() if new else None)

    def report(stage: str, moves_made: int, value: int) -> bool:
        nonlocal stop
        stop = stop or report_progress(stage, moves_made, value)
        return stop

    try:
        instance = question(workload, work.weight)
        if workload.movement != "anytime":
            raise InvalidInput(f"reference: jobs may not move at any time (movement={workload.movement})")
    except InvalidInput as error:
        report_progress(f"no ranks are looked for: {error}", 0, 0 if best is None else best[0])
        _run_rules(workload, claim, better, report)
        return
    changes = moves // MOVES_PER_CHANGE
    steps = len(ranks.POWERS) + changes
    if claim.moves >= steps + moves:
        return
    how = "jobs by rank, where smaller ones make way"
    ranks.search(
        instance,
        changes,
        claim.seed,
        report,
        lambda keep_schedule, moves_made: better(
            keep_schedule.value(), how, moves_made, lambda: log_of(instance, keep_schedule.rows)
        ),
    )
    if stop:
        return
    assert best is not None, "there is a schedule for each power"
    climb = climbed(work.pieces, earliest_end(work.pieces), pausing=False, effort=OF_RUNS[False])
    if climb is None or best[0] <= climb.best:
        better(*best, steps + moves, lambda: log_of(instance, []))
        return

    def keep_schedule(schedule: Schedule, how: str, moves_made: int) -> None:
        better(
            instance.value(schedule[0]),
            f"{how}, without pauses",
            steps + moves_made,
            lambda: as_log(instance, schedule[0], schedule[1]),
        )

    _search_from(dataclasses.replace(work, told=report), instance, None, keep_schedule, moves_before=0)


def _run_rules(workload: Jobs, claim: Reference, better: Callable[..., None], report: Progress) -> None:
    """Run the rules with pauses, except those of an earlier call.

    Args:
        workload: The workload.
        claim: The claim in the folder.
        better: Called with each run.
        report: The progress callback.
    """
    for number, rule in enumerate(WITH_PAUSES, start=1):
        if number > claim.moves:
            run = simulate(workload, rule, options=dataclasses.asdict(files.options(True)))
            value = files.total(workload, run.log, claim.weights)
            better(value, rule, number, lambda run=run: run.log)
            if report(rule, 0, value):
                return


@validate_arguments
def read_reference(folder: str | os.PathLike[str]) -> Reference:
    """Return the claim of a reference, unchecked; `check_reference` recomputes it.

    Args:
        folder: A folder written by `make_reference`.

    Returns:
        The claim.

    Raises:
        InvalidFile: The folder lacks a readable reference.

    Examples:
        >>> made = mlsched.make_reference(mlsched.workload("synthetic:gangs", jobs=8), "reference", moves=20)
        >>> mlsched.read_reference("reference").bound == made.bound
        True
    """
    return files.claimed(Path(folder))


@validate_arguments
def check_reference(
    folder: str | os.PathLike[str], workload: Jobs, *, time_limit: Positive | None = 300.0
) -> tuple[Reference, dict[str, int], list[str]]:
    """Recompute a reference from its workload.

    The bound is summed up in integers (`certificates/prices/intervals.py`), the schedule judged node by node.

    Args:
        folder: A folder written by `make_reference`.
        workload: The workload of the reference.
        time_limit: Wall seconds, after which the check fails; None for unlimited time.

    Returns:
        The claim in the folder, the recomputed values by name, and one sentence per fault.

    Raises:
        InvalidFile: The folder lacks a readable reference.

    Examples:
        >>> work = mlsched.workload("synthetic:gangs", jobs=8)
        >>> made = mlsched.make_reference(work, "reference", moves=20)
        >>> claimed, found, wrong = mlsched.check_reference("reference", work)
        >>> wrong
        []
    """
    if not isinstance(workload, Jobs):
        raise InvalidInput("a reference is of a log's workload (task graphs by iterations)")
    try:
        return files.checked(Path(folder), workload, Deadline(time_limit))
    except OutOfTime:
        claim = files.claimed(Path(folder))
        return claim, {}, [f"the check did not end in {time_limit:g} s; give it more time (--time-limit)"]


@validate_arguments
def losses(run: Run, reference: Reference) -> tuple[float, float]:
    """Return the regret interval of a run: its least and greatest loss against the best schedule, as shares of it.

    Args:
        run: A run over the reference's workload.
        reference: A reference from `make_reference` or `read_reference`.

    Returns:
        Lower and upper limit.

    Raises:
        InvalidInput: The reference belongs to another workload or simulator: pauses, their cost in work, movement,
            usage, failures.

    Examples:
        >>> work = mlsched.workload("synthetic:gangs", jobs=8)
        >>> reference = mlsched.make_reference(work, "reference", moves=20)
        >>> least, most = mlsched.losses(mlsched.simulate(work, "fifo"), reference)
        >>> least <= most
        True
    """
    if proof.identity(run.workload) != reference.workload_hash:
        raise InvalidInput(f"the reference is of {reference.source} on {reference.cluster}, not of the run's workload")
    if other := files.other_simulator(run.workload, run.options, reference):
        raise InvalidInput(f"{run.solver}: {other}; give one of the same kind")
    return reference.losses(files.total(run.workload, run.log, reference.weights))
