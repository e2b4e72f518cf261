"""Claims of the Harmony paper with their tests, and our own claims."""

from __future__ import annotations

import numpy as np

from mlsched.instances.placement.models import KINDS
from mlsched_papers.claim import Bound, Claim, exact
from mlsched_papers.harmony import claims_training, paper, studies
from mlsched_papers.harmony.grid import EXACT, FULL_STRENGTH, NOT_PRINTED, SEARCH, Policy
from mlsched_papers.harmony.measured import HarmonyView, Measured
from mlsched_papers.harmony.prediction import METHODS, NETWORK
from mlsched_papers.harmony.training import untrained
from mlsched_papers.statement import ABOVE_0, Piece, Statement, near, stated

PRESETS = (
    "computed from the presets, whose interference is synthetic: the pairwise table was made to keep the text's "
    "anchors, and no model can speed a job up"
)
#: Least ratio for the paper's "much larger".
MUCH = 2.0
PAIRED = "mean over workloads of the cut of the average completion time, workload by workload"
#: Heuristics by which Section II-B packs and spreads jobs, beside load balancing.
RULES = ("bin-packing", "standalone")
MILD, SEVERE = (("resnet50", "wlm"), ("resnet50", "seq2seq")), ("ctc", "resnext110")


# -- Section II-B -----------------------------------------------------------------------------------------------------


@stated(
    "packing-33",
    kind="testbed",
    text="Six jobs packed on three servers lose 33 % of their speed on average",
    where="Section II-B, Fig. 1",
    tested=f"within 5 points of 33 %; {PRESETS}",
    origin="assumed",
)
def packing_33(m: Measured) -> list[Piece]:
    result: list[Piece] = []
    for kind in KINDS:
        for how, slowdown in (("as bin packing does", studies.packed), ("all pairs", studies.mean_of_pairings)):
            mean = exact(float(np.mean(list(slowdown(kind).values()))))
            result.append(
                Piece(f"{kind}, {how}", "mean slowdown", mean, near(paper.MEAN_SLOWDOWN), "%", paper.MEAN_SLOWDOWN)
            )
    return result


@stated(
    "resnext-2x",
    kind="testbed",
    text="ResNeXt slows down nearly twice when packed",
    where="Section II-B, Fig. 1",
    tested=f"a factor between 1.75 and 2.1; {PRESETS}",
    origin="assumed",
)
def resnext_2x(m: Measured) -> list[Piece]:
    result: list[Piece] = []
    for kind in KINDS:
        for how, slowdown in (("as bin packing does", studies.packed), ("all pairs", studies.mean_of_pairings)):
            factor = exact(1 / (1 - slowdown(kind)["resnext110"] / 100))
            result.append(
                Piece(f"{kind}, {how}", "slowdown factor", factor, Bound(1.75, 2.1), "", paper.RESNEXT_FACTOR)
            )
    return result


@stated(
    "pairs-mild",
    kind="testbed",
    text="ResNet with WLM and ResNet with Seq2Seq affect each other little",
    where="Section II-B, Fig. 2",
    tested=f"level below the median of the 15 pairs; {PRESETS}",
    origin="assumed",
)
def pairs_mild(m: Measured) -> list[Piece]:
    result: list[Piece] = []
    for kind in KINDS:
        levels = studies.pair_levels(kind)
        for a, b in MILD:
            less = exact(float(np.median(list(levels.values()))) - levels[a, b])
            result.append(Piece(kind, f"{a} with {b} below the median", less, ABOVE_0, "points"))
    return result


@stated(
    "pair-severe",
    kind="testbed",
    text="ResNeXt and CTC interfere severely",
    where="Section II-B, case study 3",
    tested=f"level above every other pair's; {PRESETS}",
    origin="assumed",
)
def pair_severe(m: Measured) -> list[Piece]:
    result: list[Piece] = []
    for kind in KINDS:
        levels = studies.pair_levels(kind)
        others = max(level for pair, level in levels.items() if set(pair) != set(SEVERE))
        more = exact(levels[SEVERE] - others)
        result.append(Piece(kind, "resnext110 with ctc above the next", more, ABOVE_0, "points"))
    return result


@stated(
    "schemes",
    kind="direction",
    text="Load balancing splits both jobs over two servers, bin packing puts both on one, standalone each on its own",
    where="Section II-B, Fig. 3",
    tested="servers that host a part of both jobs, by our rules",
)
def schemes(m: Measured) -> list[Piece]:
    sharing = {"load balancing": 2, "bin packing": 1, "standalone": 0}
    result: list[Piece] = []
    for second in studies.SECONDS:
        for name, rule in studies.SCHEMES.items():
            tasks = studies.scheme(rule, second, "pairwise").tasks
            both = sum(1 for s in range(2) if all(sum(tasks[j][s]) for j in range(2)))
            bound = Bound(sharing[name], sharing[name])
            result.append(Piece("our rules", f"{name}, {second}", exact(both), bound, "servers", sharing[name]))
    return result


def _faster(kind: str, second: str, one: str, other: str, job: int = 1) -> Piece:
    """Return the percentage by which the second job is faster under one scheme than under another."""
    a, b = (studies.scheme(studies.SCHEMES[name], second, kind).speeds[job] for name in (one, other))
    name = second if job else f"{studies.FIRST} with {second}"
    return Piece(kind, f"{name}: {one} against {other}", exact(100 * (a / b - 1)), ABOVE_0, "%")


@stated(
    "standalone-best",
    kind="testbed",
    text="Standalone execution leads to the best performance",
    where="Section II-B, Fig. 4",
    tested=f"both jobs are faster than under the two others; {PRESETS}",
    origin="assumed",
)
def standalone_best(m: Measured) -> list[Piece]:
    return [
        _faster(kind, second, "standalone", other, job)
        for kind in KINDS
        for second in studies.SECONDS
        for other in ("load balancing", "bin packing")
        for job in (0, 1)
    ]


@stated(
    "packing-helps-vgg",
    kind="testbed",
    text="Bin packing outperforms load balancing for VGG-16 beside CTC",
    where="Section II-B, Fig. 4",
    tested=f"VGG-16 is faster; {PRESETS}",
    origin="assumed",
)
def packing_helps_vgg(m: Measured) -> list[Piece]:
    return [_faster(kind, "vgg16", "bin packing", "load balancing") for kind in KINDS]


@stated(
    "packing-hurts-resnext",
    kind="testbed",
    text="Load balancing outperforms bin packing for ResNeXt-110 beside CTC",
    where="Section II-B, Fig. 4",
    tested=f"ResNeXt-110 is faster under load balancing; {PRESETS}",
    origin="assumed",
)
def packing_hurts_resnext(m: Measured) -> list[Piece]:
    return [_faster(kind, "resnext110", "load balancing", "bin packing") for kind in KINDS]


@stated(
    "more-mates-worse",
    kind="testbed",
    text="The more CTC jobs are co-located, the worse the interference",
    tested=f"the least further loss of speed by one CTC job more; {PRESETS}",
    where="Section II-B, Fig. 5",
    origin="assumed",
)
def more_mates_worse(m: Measured) -> list[Piece]:
    result: list[Piece] = []
    for kind in KINDS:
        for name in studies.SECONDS:
            least = float(-np.diff(studies.with_mates(name, kind)).max())
            result.append(Piece(kind, f"{name}: loss by one more", exact(100 * least), ABOVE_0, "points"))
    return result


# -- Section VI-C -----------------------------------------------------------------------------------------------------


def _against(
    view: HarmonyView, policy: Policy, others: dict[str, list[Policy]], bound: Bound, printed: float | None = None
) -> list[Piece]:
    """Return a piece for each comparison of a policy with others; `others`: interpretation -> policies."""
    return [
        Piece(
            interpretation,
            f"{policy.label} below {other.label}, {pattern}",
            view.cut(policy, other, view.metric, pattern),
            bound,
            "%",
            printed,
            lower_bound=printed is not None,
            untrained=untrained(policy) if policy.kind == "trained" else "",
        )
        for interpretation, policies in others.items()
        for other in policies
        for pattern in view.interpretation.patterns
    ]


def _trained(view: HarmonyView, bound: Bound, printed: float) -> list[Piece]:
    """Compare every trained policy with every baseline, by every interpretation.

    Without a trained policy, return a piece that is not measured. The paper's number is `printed`, a lower bound.
    """
    result: list[Piece] = []
    for policy in view.of_kind("trained"):
        result += _against(view, policy, view.baselines(), bound, printed)
    return result or [Piece(view.name, "a trained policy", None, bound, "%", printed, lower_bound=True)]


@stated(
    "harmony-25",
    text="Harmony improves average completion time by more than 25 % on all baselines in all three cases",
    where="Section VI-C, Fig. 8",
    tested=f"{PAIRED}, above 25 %, for every registered trained policy",
)
def harmony_25(m: Measured) -> list[Piece]:
    bound = Bound(low=paper.CUT, strict=True)
    return [piece for view in m.views for piece in _trained(view, bound, paper.CUT)]


@stated(
    "full-harmony-25",
    text="Harmony improves average completion time by more than 25 % on LIF at full strength",
    where="ours",
    tested=f"{PAIRED}, above 25 %, where LIF scores a server by how much the interference there increases",
)
def harmony_25_full(m: Measured) -> list[Piece]:
    bound, result = Bound(low=paper.CUT, strict=True), []
    for view in m.views:
        strong = [p for p in view.of_kind("interpretation") if p.variant == FULL_STRENGTH]
        for policy in view.of_kind("trained"):
            result += _against(view, policy, {view.name: strong}, bound)
    return result


@stated(
    "harmony-rack",
    text="On 30 machines Harmony still reduces average completion time by at least 23 %",
    where="Section VI-C",
    tested=f"{PAIRED}, at least 23 %, for every registered trained policy",
)
def harmony_rack(m: Measured) -> list[Piece]:
    bound = Bound(low=paper.RACK_CUT)
    if m.rack is None:
        return [Piece("rack", "30 servers", None, bound, "%", paper.RACK_CUT, lower_bound=True)]
    return _trained(m.rack, bound, paper.RACK_CUT)


@stated(
    "ours-exact-25",
    text="Placing every batch optimally improves average completion time by more than 25 % on all baselines",
    where="ours",
    tested=f"{PAIRED}, above 25 %",
)
def exact_25(m: Measured) -> list[Piece]:
    bound = Bound(low=paper.CUT, strict=True)
    return [piece for view in m.views for piece in _against(view, EXACT, view.baselines(), bound)]


@stated(
    "ours-exact-rules",
    text="Placing every batch optimally also improves average completion time on bin packing and standalone execution",
    where="ours",
    tested=f"{PAIRED}, above 0",
)
def exact_rules(m: Measured) -> list[Piece]:
    result: list[Piece] = []
    for view in m.views:
        rules = [policy for policy in view.of_kind("rule") if policy.text in RULES]
        result += _against(view, EXACT, {view.name: rules}, ABOVE_0)
    return result


@stated(
    "ours-search",
    text="A local search comes within 10 % of placing every batch optimally",
    where="ours",
    tested="mean over workloads of its average completion time above the exact solver's",
)
def search_near(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            f"{policy.label} above exact, {pattern}",
            100 * (v.values(policy, v.metric, pattern) / v.values(EXACT, v.metric, pattern) - 1),
            Bound(high=10.0),
            "%",
        )
        for v in m.views
        for policy in v.policies
        if policy.text == SEARCH
        for pattern in v.interpretation.patterns
    ]


@stated(
    "reward-model-9.8",
    text="The reward model's relative error is 9.8 %, below 10 %",
    where="Sections V and VI-C, Fig. 9(a)",
    tested="mean relative error of the predicted speed at most 10 %, on random placements that it was not trained on",
)
def reward_model(m: Measured) -> list[Piece]:
    bound, key = Bound(high=paper.ACCEPTABLE_ERROR), (*NETWORK, "all")
    result: dict[str, list[float] | None] = {kind: errors[key] for kind, errors in m.errors.items() if key in errors}
    return [
        Piece(kind, "the reward network's error", values, bound, "%", paper.REWARD_ERROR)
        for kind, values in (result or {"reward network": None}).items()
    ]


@stated(
    "lif-errors",
    kind="direction",
    text="LIF's models err much more than 9.8 %",
    where="Section VI-C, Fig. 9(a)",
    tested=f"mean relative error of the predicted speed at least {MUCH:g} times 9.8 %",
)
def lif_errors(m: Measured) -> list[Piece]:
    return [
        Piece(
            f"{kind}, {way}", f"{method}'s error", errors[way, method, "all"], Bound(low=MUCH * paper.REWARD_ERROR), "%"
        )
        for kind, errors in m.errors.items()
        for way in ("profiled", "fitted")
        for method in METHODS
    ]


@stated(
    "lif-by-model",
    kind="direction",
    text="LIF works well for CTC but has a large error on Seq2Seq",
    where="Section VI-C, Fig. 9(b)",
    tested=f"error on Seq2Seq over that on CTC, at least {MUCH:g}",
)
def lif_by_model(m: Measured) -> list[Piece]:
    return [
        Piece(
            f"{kind}, {way}",
            f"{method}: Seq2Seq over CTC",
            np.divide(errors[way, method, "seq2seq"], errors[way, method, "ctc"]),
            Bound(low=MUCH),
            "times",
        )
        for kind, errors in m.errors.items()
        for way in ("profiled", "fitted")
        for method in METHODS
    ]


STATEMENTS: tuple[Statement, ...] = (
    packing_33,
    resnext_2x,
    pairs_mild,
    pair_severe,
    schemes,
    standalone_best,
    packing_helps_vgg,
    packing_hurts_resnext,
    more_mates_worse,
    harmony_25,
    harmony_25_full,
    harmony_rack,
    exact_25,
    exact_rules,
    search_near,
    reward_model,
    lif_errors,
    lif_by_model,
    *claims_training.STATEMENTS,
)


def claims(m: Measured) -> list[Claim]:
    """Return the claims with their verdicts, in the paper's order."""
    excluded = {f"{view.name}, {FULL_STRENGTH}": NOT_PRINTED for view in (*m.views, m.rack) if view is not None}
    return [s.judge(m, excluded=excluded if s in (harmony_25, harmony_rack) else None) for s in STATEMENTS]
