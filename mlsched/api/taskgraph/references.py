"""References: the interval in which the best schedule of a log lies, with a certificate that anyone can check."""

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

#: Moves of the neighbourhood search where nothing else is said.
MOVES = 5000
#: Where jobs may pause, a change of ranks runs the whole log again, and takes about as long as so many moves.
A_CHANGE = 100
#: The rules of which the best run is the reference where jobs pause, but are not free to move, or start in parts.
WITH_PAUSES = ("srpt:preempt=true", "srpt:size=time,preempt=true")
#: Moves after which an interrupted search goes on.
KEPT_EVERY = 1000

Told = Callable[[str, int, int], bool]


@validate_arguments
def make_reference(
    workload: Any,
    folder: str | os.PathLike[str],
    *,
    pausing: bool = False,
    weights: str = "jobs",
    moves: Annotated[int, Range(0)] = MOVES,
    seed: Seed = 0,
    log_options: Mapping[str, Any] | None = None,
    progress: Told | None = None,
) -> Reference:
    """Bound the best schedule of a log's workload from both sides; write prices, schedule and claim to a folder.

    A folder with a reference of the same workload is recomputed and gone on with: its schedule is never worsened.

    Args:
        workload: of a log, as `workload` makes it (task graphs by iterations).
        folder: where the reference goes.
        pausing: whether jobs may pause, and go on elsewhere, at their `pause_cost`; the bound then holds for that, and
            in the schedule jobs run by rank, and smaller ones move to other nodes where a larger one finds none.
            Where a schedule without pauses can be better, such a one is looked for as well.
        weights: what a job's completion time counts ("jobs", "area", "urgency", "class").
        moves: of the search without pauses, in each of which a few jobs change places; with pauses, ranks are changed
            once for a hundred of these.
        seed: of these changes, an integer >= 0.
        log_options: options of the log reader, for the manifest.
        progress: called with (stage, moves, value) during the work; True ends it and keeps the best schedule.

    Raises:
        InvalidInput: the workload is no log's, or the folder is of another workload or does not hold.

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
    target, begun = Path(folder), cpu_time()
    progress = progress or (lambda stage, made, value: False)
    weight = proof.weights(workload, weights)
    before = _before(target, workload, pausing, weights)
    asked = proof.weighted(workload, weight)
    claim = _claim(workload, before, pausing, weights, int(seed), dict(log_options or {}))
    prices = None
    if before is None:
        climb = climbed(asked, earliest_end(asked), pausing=pausing, effort=OF_REFERENCES[pausing])
        prices, bound = proof.rounded(asked, climb, pausing)
        claim = dataclasses.replace(claim, bound=bound)
        progress("bound", 0, bound)
    kept = _Kept(target, claim, prices, begun)
    work = _Work(workload, weight, asked, before, moves, kept, progress)
    (_with_pauses if pausing else _without_pauses)(work)
    return kept.claim


def _claim(
    workload: Jobs, before: Reference | None, pausing: bool, weights: str, seed: int, reading: dict[str, Any]
) -> Reference:
    """What is claimed before the work begins: what a folder has already, or nothing yet."""
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


class _Kept:
    """What the folder has: it is written whenever there is something better; the prices once, if they are new."""

    def __init__(self, target: Path, claim: Reference, prices: intervals.Prices | None, begun: float) -> None:
        self.target, self.claim, self._prices = target, claim, prices
        self._begun = begun - claim.cpu_seconds

    def keep(self, value: int, how: str, made: int, schedule: dict[str, Any] | None) -> None:
        """Write the claim of a schedule that was found after so many moves, and the schedule (None: as it is there)."""
        seconds = round(cpu_time() - self._begun, 1)
        self.claim = dataclasses.replace(self.claim, value=value, how=how, moves=made, cpu_seconds=seconds)
        files.written(self.target, self.claim, self._prices, schedule)
        self._prices = None


@dataclasses.dataclass(frozen=True)
class _Work:
    """One reference to make: the weighted workload, the claim that the folder has, the moves, and the caller's ear."""

    workload: Jobs
    weight: IntArray
    pieces: Pieces
    before: Reference | None
    moves: int
    kept: _Kept
    told: Told


def _without_pauses(work: _Work) -> None:
    """Make a list after prices, and search from it, or from the schedule that the folder has."""
    those, kept = question(work.workload, work.weight), work.kept
    stored = None
    if work.before is not None:
        stored = search.on_board(those, *files.starts_of(kept.target, work.workload))

    def found(schedule: Schedule, how: str, made: int) -> None:
        kept.keep(those.value(schedule[0]), how, made, files.waits_of(work.workload, schedule[0], schedule[1]))

    _searched(work, those, stored, found, done=kept.claim.moves)


def _searched(
    work: _Work, those: Question, schedule: Schedule | None, found: Callable[[Schedule, str, int], None], *, done: int
) -> None:
    """Make a list after prices (if `schedule` is None), and search from it until all moves are done.

    found(schedule, how, moves) is called with each schedule to keep; none is worse than the one before.
    """
    if schedule is None:
        schedule = search.first_schedule(those, work.pieces, work.told)
        found(schedule, "a list after prices", 0)
    stop = False
    while done < work.moves and not stop:
        many = min(KEPT_EVERY, work.moves - done)

        def moved(stage: str, made: int, value: int, done: int = done) -> bool:
            nonlocal stop
            stop = stop or work.told(stage, done + made, value)
            return stop

        schedule, made = search.search(schedule, many, work.kept.claim.seed + done, moved)
        stop = stop or made < many
        done += made
        found(schedule, "a list after prices, and a neighbourhood search", done)


def _before(target: Path, workload: Jobs, pausing: bool, weights: str) -> Reference | None:
    """What a folder claims already; refused where it is of something else."""
    if not (target / files.MANIFEST).exists():
        # Prices or a schedule alone are what a full disk, say, has left of a reference: it is made again.
        if target.exists() and (not target.is_dir() or {one.name for one in target.iterdir()} - files.UNFINISHED):
            raise InvalidInput(f"{target}: is there, and no reference; give another folder")
        return None
    before = files.claimed(target)
    same = (before.workload_hash, before.pausing, before.weights) == (proof.identity(workload), pausing, weights)
    if not same:
        raise InvalidInput(f"{target}: is a reference of another log, cluster or question; give another folder")
    if wrong := files.checked(target, workload)[2]:
        raise InvalidInput(f"{target}: does not hold: {wrong[0]}; give another folder")
    return before


def _with_pauses(work: _Work) -> None:
    """The best of schedules by ranks and, where that can be better, of what is found without pauses; of jobs that are
    not free to move, or start in parts, of runs of rules.

    Where more is asked for than was done before (`claim.moves`), all is done anew, and what was there is kept unless
    something is better.
    """
    workload, before, kept, moves, told = work.workload, work.before, work.kept, work.moves, work.told
    claim = kept.claim
    best = None if before is None else (before.value, before.how)
    stop = False

    def better(value: int, how: str, made: int, log: Callable[[], Segments]) -> None:
        nonlocal best
        new = best is None or value < best[0]
        best = (value, how) if best is None or new else best
        kept.keep(*best, max(claim.moves, made), log().to_json() if new else None)

    def heard(stage: str, made: int, value: int) -> bool:
        nonlocal stop
        stop = stop or told(stage, made, value)
        return stop

    try:
        those = question(workload, work.weight)
        if workload.movement != "anytime":
            raise InvalidInput(f"reference: jobs may not move at any time (movement={workload.movement})")
    except InvalidInput as error:
        told(f"no ranks are looked for: {error}", 0, 0 if best is None else best[0])
        _runs_of_rules(workload, claim, better, heard)
        return
    changes = moves // A_CHANGE
    steps = len(ranks.POWERS) + changes
    if claim.moves >= steps + moves:
        return
    how = "jobs by rank, where smaller ones make way"
    ranks.search(
        those,
        changes,
        claim.seed,
        heard,
        lambda found, made: better(found.value(), how, made, lambda: log_of(those, found.rows)),
    )
    if stop:
        return
    assert best is not None, "there is a schedule for each power"
    climb = climbed(work.pieces, earliest_end(work.pieces), pausing=False, effort=OF_RUNS[False])
    if climb is None or best[0] <= climb.best:
        better(*best, steps + moves, lambda: log_of(those, []))
        return

    def found(schedule: Schedule, how: str, made: int) -> None:
        better(
            those.value(schedule[0]),
            f"{how}, without pauses",
            steps + made,
            lambda: as_log(those, schedule[0], schedule[1]),
        )

    _searched(dataclasses.replace(work, told=heard), those, None, found, done=0)


def _runs_of_rules(workload: Jobs, claim: Reference, better: Callable[..., None], told: Told) -> None:
    """The runs of the rules with pauses; those that were made before are not made again."""
    for made, rule in enumerate(WITH_PAUSES, start=1):
        if made > claim.moves:
            run = simulate(workload, rule, options=dataclasses.asdict(files.options(True)))
            value = files.total(workload, run.log, claim.weights)
            better(value, rule, made, lambda run=run: run.log)
            if told(rule, 0, value):
                return


@validate_arguments
def read_reference(folder: str | os.PathLike[str]) -> Reference:
    """What a reference claims, unchecked; `check_reference` recomputes it.

    Args:
        folder: what `make_reference` wrote.

    Raises:
        InvalidFile: there is no reference in the folder that could be read.

    Examples:
        >>> made = mlsched.make_reference(mlsched.workload("synthetic:gangs", jobs=8), "reference", moves=20)
        >>> mlsched.read_reference("reference").bound == made.bound
        True
    """
    return files.claimed(Path(folder))


@validate_arguments
def check_reference(
    folder: str | os.PathLike[str], workload: Any, *, time_limit: Positive | None = 300.0
) -> tuple[Reference, dict[str, int], list[str]]:
    """Recompute a reference from its workload.

    The bound is summed up in integers (`certificates/prices/intervals.py`), the schedule judged node by node.

    Args:
        folder: what `make_reference` wrote.
        workload: what it is a reference of.
        time_limit: wall seconds, after which the check has failed; None for no limit.

    Returns:
        What the folder claims, what comes out by name, and sentences on what does not hold.

    Raises:
        InvalidFile: there is no reference in the folder that could be read.

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
    """How much a run loses against the best schedule: at least, and at most, as shares of it.

    Args:
        run: a run over the reference's workload.
        reference: what `make_reference` or `read_reference` returned.

    Raises:
        InvalidInput: the reference is of another workload or of another simulator: pauses, what they cost in work,
            movement, usage, failures.

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
