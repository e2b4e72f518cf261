"""The numbers of the Harmony paper's figures, measured, beside the numbers in its text."""

from __future__ import annotations

from mlsched.instances.placement.models import KINDS
from mlsched_papers.claim import Estimate, estimate
from mlsched_papers.harmony import paper, studies, training
from mlsched_papers.harmony.grid import EXACT, Policy
from mlsched_papers.harmony.measured import HarmonyView, Measured
from mlsched_papers.harmony.prediction import METHODS, NETWORK, WAYS
from mlsched_papers.report import Number, Table
from mlsched_papers.view import change

#: Metric -> column: the parts of a completion time.
PARTS = {
    "average_whole": "in whole intervals",
    "average_wait": "wait",
    "average_slowdown": "slowdown",
    "waiting_jobs": "jobs waiting",
    "utilisation": "CPUs held [%]",
    "makespan": "makespan",
    "cpu_ms": "CPU per decision [ms]",
    "proven": "proven [%]",
}
#: Columns of Figure 9.
COLUMNS = ("all", *studies.NAMES)
SYNTHETIC = "Of the presets' synthetic interference, made to keep the text's anchors."


def tables(m: Measured) -> list[Table]:
    """Return one table per figure, in the paper's order; Figure 8 by interpretation, then the parts of its numbers."""
    result = [_figure_1(), _figure_2(), _figure_3(), _figure_4(), _figure_5()]
    display = [view for view in m.views if view.metric == "average_completion"]
    result += [figure_8(view) for view in display] + ([figure_8(m.rack)] if m.rack else [])
    result += [parts(view) for view in display]
    result += [figure_9(kind, m) for kind in m.errors]
    return [*result, *trainings(m.views[0])]


def _one(value: float, printed: float | None = None) -> Number:
    return Number(Estimate(value, None), printed)


def _figure_1() -> Table:
    rows = []
    for kind in KINDS:
        for how, slowdown in (("as bin packing does", studies.packed), ("mean of all pairs", studies.mean_of_pairings)):
            each = slowdown(kind)
            mean = sum(each.values()) / len(each)
            numbers = (_one(mean, paper.MEAN_SLOWDOWN), *(_one(each[name]) for name in studies.NAMES))
            rows.append((f"{kind}, {how}", numbers))
    return Table(
        "Figure 1",
        "slowdown of six jobs, two per server, against standalone [%]",
        ("interference", "mean", *studies.NAMES),
        tuple(rows),
        SYNTHETIC,
    )


def _figure_2() -> Table:
    levels = studies.pair_levels("pairwise")
    nothing = Number(None)
    rows = tuple((a, tuple(_one(levels[a, b]) if a != b else nothing for b in studies.NAMES)) for a in studies.NAMES)
    return Table(
        "Figure 2",
        "interference level of two models, the sum of their slowdowns [%]",
        ("model", *studies.NAMES),
        rows,
        SYNTHETIC,
    )


def _figure_3() -> Table:
    rows = []
    for name, rule in studies.SCHEMES.items():
        tasks = studies.scheme(rule, studies.SECONDS[0], "pairwise").tasks
        numbers = tuple(_one(float(count)) for server in range(2) for job in range(2) for count in tasks[job][server])
        rows.append((name, numbers))
    header = ("scheme", *(f"server {s}: job {j} {task}" for s in (1, 2) for j in (1, 2) for task in ("workers", "PSs")))
    return Table("Figure 3", "two jobs of a worker and a PS on two servers of four tasks", header, tuple(rows))


def _figure_4() -> Table:
    rows = []
    for kind in KINDS:
        for name, rule in studies.SCHEMES.items():
            result = [studies.scheme(rule, second, kind).speeds for second in studies.SECONDS]
            rows.append((f"{kind}, {name}", tuple(_one(speed) for pair in result for speed in pair)))
    header = ("interference, scheme", *(c for s in studies.SECONDS for c in (f"{studies.FIRST} with {s}", s)))
    return Table("Figure 4", "speed relative to standalone under three schemes", header, tuple(rows), SYNTHETIC)


def _figure_5() -> Table:
    rows = tuple(
        (f"{kind}, {name}", tuple(_one(speed) for speed in studies.with_mates(name, kind)))
        for kind in KINDS
        for name in studies.SECONDS
    )
    header = ("interference, model", *(f"{mates} CTC" for mates in range(studies.MOST_MATES + 1)))
    title = "speed relative to standalone beside CTC jobs on one server, whatever its capacity"
    return Table("Figure 5", title, header, rows, SYNTHETIC)


def figure_8(view: HarmonyView) -> Table:
    exact = EXACT in view.policies
    rows = []
    for policy in view.shown():
        numbers = []
        for pattern in view.interpretation.patterns:
            printed = paper.COMPLETION if policy.kind == "trained" and pattern == "uniform" else None
            numbers.append(Number(view.estimate(policy, view.metric, pattern), printed))
            if exact:
                gain = None if policy == EXACT else estimate(view.cut(EXACT, policy, view.metric, pattern))
                numbers.append(Number(gain))
        rows.append((policy.label, tuple(numbers)))
    columns = [c for p in view.interpretation.patterns for c in (p, *(["exact below [%]"] if exact else []))]
    note = (
        f"Paper: Harmony more than {paper.CUT:g} % below every baseline ({paper.RACK_CUT:g} % on 30 machines); its "
        f"{paper.COMPLETION:g} intervals (Table II) are of unknown lengths of jobs."
    )
    title = f"average completion time [intervals], {view.name}"
    return Table("Figure 8", title, ("policy", *columns), tuple(rows), note)


def parts(view: HarmonyView) -> Table:
    pattern = view.interpretation.patterns[0]
    rows = tuple((p.label, tuple(Number(view.estimate(p, name, pattern)) for name in PARTS)) for p in view.shown())
    note = "Slowdown: time in training over isolated length. Proven: decisions of the exact solver within its limit."
    title = f"what it is made of, {pattern} arrivals, {view.name}"
    return Table("Figure 8", title, ("policy", *PARTS.values()), rows, note)


def figure_9(kind: str, m: Measured) -> Table:
    result = m.errors[kind]
    network = [estimate(result[*NETWORK, name]) if (*NETWORK, name) in result else None for name in COLUMNS]
    printed = (paper.REWARD_ERROR, *(None for _ in studies.NAMES))
    rows = [("reward network", tuple(Number(n, p) for n, p in zip(network, printed, strict=True)))]
    for way in WAYS:
        for method in METHODS:
            numbers = tuple(Number(estimate(result[way, method, name])) for name in COLUMNS)
            rows.append((f"{method}, {way}", numbers))
    note = "The reward network comes with mlsched; it was trained on placements with pairwise interference."
    title = f"relative error of predicted speeds [%], {kind} interference"
    return Table("Figure 9", title, ("model", *COLUMNS), tuple(rows), note)


def trainings(view: HarmonyView) -> list[Table]:
    """Return Table II and Figure 10, if their trainings exist."""
    output = {policy.label: policy for policy in view.of_kind("variant")}
    return [
        _variants(view, [output[training.FULL], *(output[name] for name in names)], where, title)
        for where, title, names in (
            ("Table II", "training without one technique", training.TECHNIQUES),
            ("Figure 10", "training other networks, and without shuffling", {**training.NETWORKS, **training.OTHERS}),
        )
        if output
    ]


def _variants(view: HarmonyView, policies: list[Policy], where: str, title: str) -> Table:
    rows = []
    for policy in policies:
        printed = paper.TABLE_II.get(policy.label, (paper.COMPLETION if policy.label == training.FULL else None, None))
        longer = change(view.values(policy, view.metric), view.values(policies[0], view.metric))
        rows.append(
            (
                policy.label,
                (
                    Number(view.estimate(policy, view.metric), printed[0]),
                    Number(None if policy == policies[0] else estimate(longer), printed[1]),
                ),
            )
        )
    note = "One training seed each: what differs between seeds is not in the intervals, which are over workloads."
    header = ("training", "completion [intervals]", "above the full recipe [%]")
    return Table(where, title, header, tuple(rows), note)
