"""`mlsched judge STATE...`: a real scheduler's decision, the optimum, and helpful changes on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.cli import groups
from mlsched.cli.output import ChecksFailed, Json, Seed, emit, number, only_documents, table, to_write, waiting
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput, MlschedError, one_line

if TYPE_CHECKING:
    from mlsched_admission.api.judgement import Judgement

#: Most names, points and changes on the screen; `--json` has all.
MOST_NAMES, MOST_POINTS, MOST_CHANGES, MOST_LINES = 5, 8, 6, 6
#: Headings of objectives; lost work in minutes.
_HEADS = {
    "victims": "victims (pods of gangs)",
    "top_priority": "highest priority (rank)",
    "budget_violations": "pods against budgets",
    "moves": "moved",
    "grace": "grace, s",
}


@groups.in_group(groups.CLUSTERS)
def judge(
    states: Annotated[
        list[Path],
        typer.Argument(
            metavar="STATE...",
            help="Read the state from these files, e.g. workloads.json; output of kubectl, Slurm or KAI, or an "
            "instance.",
        ),
    ],
    decision: Annotated[
        Path | None,
        typer.Option(
            help="Read the decision from this file, e.g. later.json: a later state, events, or victims. Default: the "
            "state's own."
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            help="Judge the decision of this rule instead, e.g. kueue, kube, kai or slurm. Default: the decision "
            "that was made."
        ),
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(help="Choose a waiting job, e.g. train-7 (repeatable). Default: the first in line."),
    ] = None,
    now: Annotated[
        str | None, typer.Option(help="Set the time of the state, e.g. 2026-03-01T12:00:00Z. Default: its latest time.")
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(help="Set the time between checkpoints, e.g. 2h. Default: all work of a victim is lost."),
    ] = None,
    checkpoint_annotation: Annotated[
        str | None,
        typer.Option(
            help="Name the annotation of the last checkpoint's time, e.g. example.org/saved (Slurm: KEY in "
            "comments). Default: none."
        ),
    ] = None,
    flavors: Annotated[
        str, typer.Option(help="Choose the flavors of Kueue, e.g. free, or chosen as Kueue does.")
    ] = "chosen",
    slurm_conf: Annotated[
        Path | None,
        typer.Option(
            help="Read Slurm's settings from this file, e.g. slurm.conf or the output of scontrol show config. "
            "Default: none."
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop each search after this many wall seconds, e.g. 10.")
    ] = 60,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        to_write("-o", "--output", text="Write the instance to this file, e.g. instance.json. Default: not written."),
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Remove names from written files; ages and lost work stay.")
    ] = False,
    certify: Annotated[
        Path | None,
        typer.Option(help="Write a certificate of the front to this new folder, e.g. proof. Default: not written."),
    ] = None,
    free: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL=NUMBER",
            help="Find the fewest moves that free whole nodes or domains, e.g. node=4 or rack=2. Default: judge.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Judge a decision of Kueue, Kubernetes, KAI or Slurm against the optimum: why is a job pending?

    The command only reads files; it never contacts a cluster.
    """
    import mlsched_admission
    from mlsched import api

    if free is not None:
        if decision is not None or rule is not None or job or output is not None or certify is not None:
            raise InvalidInput(
                "--free: does not judge a decision; leave out --decision, --rule, --job, -o and --certify"
            )
        from mlsched_admission.cli.free import free as free_domains

        free_domains(states, free, time_limit, seed, as_json=as_json)
        return
    if anonymous and output is None and certify is None:
        raise InvalidInput("--anonymous: applies to the files of -o and --certify; name a file with -o")
    if certify is not None:
        api.check_folder(certify, output)
    with waiting("judging", time_limit), only_documents():
        judgement = mlsched_admission.judge(
            *states,
            decision=decision,
            rule=rule,
            job=job or (),
            now=now,
            checkpoint_every=checkpoint_every,
            checkpoint_annotation=checkpoint_annotation,
            flavors=flavors,
            slurm_conf=slurm_conf,
            time_limit=time_limit,
            seed=seed,
        )
    if output is not None:
        api.save(_judgement_for_files(judgement, anonymous).instance, output)
    certificate, unproved = (
        (None, None)
        if certify is None
        else _certify_front(_judgement_for_files(judgement, anonymous), certify, time_limit)
    )
    document = lambda: {**judgement.to_json(), **({} if certificate is None else {"certificate": certificate})}  # noqa: E731
    emit(as_json, document, lambda: _lines_of_screen(judgement, certificate))
    if unproved is not None:
        raise unproved
    if not judgement.accepted:
        raise ChecksFailed(f"{judgement.verdict.kind}: {one_line(_verdict_sentence(judgement), 200)}")


def _judgement_for_files(judgement: Judgement, anonymous: bool) -> Judgement:
    """Return the judgement for files: with --anonymous, of an instance without names."""
    if not anonymous:
        return judgement
    from dataclasses import replace

    from mlsched_admission.instances.anonymous import anonymous as without_names

    return replace(judgement, instance=without_names(judgement.instance))


def _certify_front(
    judgement: Judgement, folder: Path, time_limit: float | None
) -> tuple[Data | None, MlschedError | None]:
    """Prove the front in a folder; return the proof or None, and the reason of a failure."""
    import mlsched_admission
    from mlsched.cli.certify import document

    try:
        with waiting(f"certifying in {folder}", time_limit) as progress, only_documents():
            checked = mlsched_admission.certify_judgement(judgement, folder, time_limit=time_limit, progress=progress)
    except MlschedError as error:
        return None, error
    return document(folder, checked), None


def _lines_of_screen(judgement: Judgement, certificate: Data | None) -> list[Any]:
    rows = [("asked", _requested_jobs(judgement))]
    if judgement.decision is not None:
        rows += _verdict_rows(judgement)
    rows += [("why it waits", judgement.why)] if judgement.why else []
    if certificate is not None:
        folder = certificate["folder"]
        rows.append(("certificate", f"{folder}: certified: the front below is whole; mlsched check {folder}"))
    basis = [("read", line) for line in judgement.read]
    basis += _first_lines([("assumed", line) for line in judgement.assumed])
    basis += _first_lines(
        [("not modelled", f"{job}: {line}") for job, lines in judgement.unmodelled.items() for line in lines]
    )
    return [
        _label_grid(rows),
        *_front_table(judgement),
        *_cycle_table(judgement),
        _label_grid(_needed_changes(judgement)),
        "",
        _label_grid(basis),
    ]


def _cycle_table(judgement: Judgement) -> list[Any]:
    """Return the outcome of every waiting job in a complete cycle, preemptors first."""
    if judgement.cycle is None or len(judgement.cycle) < 2:
        return []
    line = sorted(judgement.cycle, key=lambda row: (not row.evicts, row.outcome != "starts"))
    rows = [
        [
            row.job,
            row.outcome + (f", then {row.later}" if row.later else "") + (f": {row.why}" if row.why else ""),
            short_list(list(row.evicts)) if row.evicts else "",
            row.verdict,
        ]
        for row in line[:MOST_POINTS]
    ]
    outcomes = table("one cycle", ["job", "outcome", "evicts", "verdict"], rows)
    more = len(line) - MOST_POINTS
    return [outcomes, f"and {more} more waiting jobs (--json lists them)"] if more > 0 else [outcomes]


def _verdict_rows(judgement: Judgement) -> list[tuple[str, str]]:
    verdict = judgement.verdict
    rows = [("decision", f"{judgement.decision}: evicts {short_list(_evicted_names(judgement, verdict.evict))}")]
    rows.append(("verdict", f"{verdict.kind.upper()}: {_verdict_sentence(judgement)}"))
    if len({why for _, why in verdict.ineligible}) > 1:  # the verdict has one reason only
        others = verdict.ineligible[1:MOST_NAMES]
        rows += [("", f"{names_of(judgement.instance.unit_names, [u])[0]}: {why}") for u, why in others]
    if verdict.witness is not None and verdict.kind in ("needless", "dominated"):
        plan = verdict.witness.plan
        moved_units = judgement.instance.moved(plan.move)
        moves = f", moves {short_list(names_of(judgement.instance.unit_names, moved_units))}" if moved_units else ""
        rows.append(
            ("instead", f"evicts {short_list(_evicted_names(judgement, plan.evict.nonzero()[0].tolist()))}{moves}")
        )
    return [*rows, ("proof", verdict.proof)] if verdict.proof else rows


def _verdict_sentence(judgement: Judgement) -> str:
    """Return the verdict's sentence, which may begin with its kind."""
    return judgement.verdict.sentence.removeprefix(f"{judgement.verdict.kind}: ")


def _label_grid(rows: list[tuple[str, str]]) -> Any:
    """Return labels, each once, and their texts, wrapped."""
    from rich.table import Table
    from rich.text import Text

    grid, before = Table.grid(padding=(0, 2)), ""
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(Text("" if label == before else label, style="bold"), Text(one_line(text, 1000)))
        before = label or before
    return grid


def _first_lines(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    more = len(rows) - MOST_LINES
    return rows if more <= 0 else [*rows[:MOST_LINES], (rows[0][0], f"and {more} more (--json lists them)")]


def _evicted_names(judgement: Judgement, units: Iterable[int]) -> list[str]:
    """Return the names of evicted units; a completely evicted gang by its own name, once."""
    instance, leaving = judgement.instance, set(units)
    names: dict[str, None] = {}
    for unit in sorted(leaving):
        gang = int(instance.unit_group[unit])
        whole = (instance.unit_group == gang).nonzero()[0].tolist()
        is_gang = len(whole) > 1 and leaving.issuperset(whole) and instance.group_names
        names[instance.group_names[gang] if is_gang else names_of(instance.unit_names, [unit])[0]] = None
    return list(names)


def names_of(names: Sequence[str], numbers: Iterable[int]) -> list[str]:
    """Return the names of these numbers, as in the documents; imported when first needed."""
    from mlsched_admission.api import judgement

    return judgement.names_of(names, numbers)


def short_list(names: list[str]) -> str:
    """Return a few names, and the number of the others."""
    if not names:
        return "nobody"
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _requested_jobs(judgement: Judgement) -> str:
    instance = judgement.instance
    jobs = list(judgement.needs.jobs or range(len(instance.job_priority)))
    names = names_of(instance.job_names, jobs)
    return short_list(
        [f"{name} (priority {int(instance.job_priority[j])})" for name, j in zip(names, jobs, strict=True)]
    )


def _needed_changes(judgement: Judgement) -> list[tuple[str, str]]:
    """Return the changes with which the jobs start without evictions."""
    label, needs = "it would take", judgement.needs
    if needs.starts_now:
        return [(label, "nothing: it starts now, and nobody is evicted")]
    rows = [(label, change.sentence) for change in needs.changes[:MOST_CHANGES]]
    if (more := len(needs.changes) - MOST_CHANGES) > 0:
        rows.append((label, f"or one of {more} other changes (--json lists them)"))
    rows += [("or, evicting", f"{one.sentence}: evicts {short_list(list(one.evicts))}") for one in judgement.permits]
    if needs.cannot:
        rows.append(("cannot", needs.cannot))
    if rows and needs.proof:
        rows.append(("", needs.proof))
    return rows or [(label, "no change was found within the limits; give it more time")]


def _front_table(judgement: Judgement) -> list[Any]:
    """Return the undominated plans, one row each."""
    verdict = judgement.verdict
    if not verdict.front:
        return []
    rows = []
    for point in verdict.front[:MOST_POINTS]:
        mark = "*" if judgement.decision is not None and point.values == verdict.values else ""
        figures = [
            number(point.values[name] / 60 if name == "lost" else point.values[name]) for name in verdict.objectives
        ]
        start = point.plan.start[list(judgement.needs.jobs)]
        waits = "" if start.all() else " (not all start)" if start.any() else " (nothing starts)"
        evicted_names = short_list(_evicted_names(judgement, point.plan.evict.nonzero()[0].tolist()))
        rows.append([f"{evicted_names}{mark}{waits}", *figures])
    title = "front" + (", complete" if verdict.complete else ", as far as it was found")
    title += " in the model, which leaves a feature out" if judgement.unmodelled else ""
    more = len(verdict.front) - MOST_POINTS
    heads = {**_HEADS, "lost": f"{judgement.counted}-min lost"}
    plans = table(title, ["evicts", *(heads.get(name, name) for name in verdict.objectives)], rows)
    return [plans, f"and {more} more plans (--json lists them)"] if more > 0 else [plans]
