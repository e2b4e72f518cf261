"""`reproduce`: the evaluation of a paper, measured again."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import ALL_NAMES, InvalidInput, UnknownName, did_you_mean
from mlsched.core.params import Number
from mlsched.core.registry import scan_exports
from mlsched_papers.experiment import Experiment, Progress, Settings
from mlsched_papers.recorded import recorded
from mlsched_papers.report import Report

#: Name -> experiment.
EXPERIMENTS: Mapping[str, Experiment] = {e.name: e for e in scan_exports("mlsched_papers", "EXPERIMENT", Experiment)}


@validate_arguments
def reproduce(
    name: str,
    *,
    quick: bool = False,
    workers: Number = 1,
    progress: Progress | None = None,
    trace: str | os.PathLike[str] | None = None,
    cluster: str | None = None,
    jobs: Number | None = None,
    seeds: Number | None = None,
    papers_size: bool = False,
    loads: Sequence[float] | None = None,
    claim: str | None = None,
) -> Report:
    """Repeat the evaluation of a paper: its tables and figures, and a verdict on each claim.

    Args:
        name: the experiment; `mlsched list experiments` names all.
        quick: a small version, to see the machinery work; it lacks verdicts.
        workers: processes; the report is the same for any number.
        progress: called with (runs done, runs in all).
        trace: a public trace in place of a private one: its name, or a path.
        cluster: the nodes to run it on: cluster text or a file of nodes.
        jobs: another size than the version's own; of a trace, its number of first jobs.
        seeds: another number of repetitions.
        papers_size: of "mlfs", the paper's own size if the default is smaller.
        loads: of "mlfs", the loads to run (of 0.25, 0.5, 1, 2 and 3).
        claim: show only the claims with this in their name or text.

    Raises:
        SolverError: a run fails its replay check: such a run must not be reported.
        UnknownName: the experiment is unknown.

    Examples:
        >>> report = mlsched_papers.reproduce("slaq", quick=True, jobs=8, seeds=1)
        >>> report.name
        'slaq'
    """
    if name not in EXPERIMENTS:
        raise UnknownName(
            f"unknown experiment '{name}'{did_you_mean(name, EXPERIMENTS)}; there are {', '.join(EXPERIMENTS)}"
        )
    if cluster is not None and trace is None:
        raise InvalidInput(f"cluster: {cluster!r}, expected a trace with it; give trace as well")
    if quick and papers_size:
        raise InvalidInput("quick, papers_size: give one of them")
    experiment = EXPERIMENTS[name]
    if claim is not None and not experiment.has(claim):
        there = ", ".join(statement.name for statement in experiment.statements)
        raise UnknownName(f"claim: {claim!r}, expected a part of a claim's name or text; there are {there}", ALL_NAMES)
    choice = None if loads is None else tuple(loads)
    trace = None if trace is None else os.fspath(trace)
    settings = Settings(quick, workers, progress, trace, cluster, jobs, seeds, papers_size, choice)
    report = experiment.measured(settings)
    known = recorded().get(name, {}) if quick else {}
    report = dataclasses.replace(report, quick=quick, recorded=known, paper=experiment.paper)
    return report if claim is None else report.only(claim)
