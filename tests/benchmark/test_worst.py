"""Where a rule loses: the worst instances first, each with the plan beside the optimum."""

from __future__ import annotations

import pytest

import mlsched
from mlsched.benchmark.worst import Loss
from mlsched.core.errors import InvalidInput
from mlsched.core.gap import Gap

INSTANCES = {f"s{seed}": mlsched.generate("preemption", "small", seed=seed) for seed in range(8)}


def test_the_worst_come_first_and_none_is_worse():
    losses = mlsched.worst_cases("rand", INSTANCES, most=8, best="brute-force")
    assert len(losses) == 8
    for loss in losses:
        assert loss.instance == INSTANCES[loss.name]
        assert repr(loss.gap) == repr(loss.result.gap_to(loss.best))
        assert loss.best.status == "optimal"
    comparable = [loss for loss in losses if loss.gap.primary is None]
    shares = [loss.gap.share for loss in comparable]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0
    behind = [loss for loss in losses if loss.gap.primary is not None]
    assert losses[: len(behind)] == behind, "more deferred jobs are worse than any percentage"
    first = mlsched.worst_cases("rand", INSTANCES, most=2, best="brute-force")
    assert [loss.name for loss in first] == [loss.name for loss in losses[:2]]
    assert losses.dataframe().instance.tolist() == [loss.name for loss in losses]
    assert losses[0].name in losses._repr_html_()


def test_the_order_of_gaps_without_a_percentage():
    gaps = [Gap(1, "jobs", 0.5), Gap(7, "volume", None), Gap(0, "volume", None), Gap(2, "more", None, "deferred jobs")]
    losses = [Loss(str(number), None, None, None, gap) for number, gap in enumerate(gaps)]
    ordered = sorted(losses, key=lambda loss: loss.order, reverse=True)
    assert [loss.name for loss in ordered] == ["3", "1", "0", "2"]


def test_the_picture_has_both_plans_of_each(tmp_path):
    import matplotlib as mpl

    from mlsched.benchmark.worst import draw_worst

    mpl.use("Agg")
    losses = mlsched.worst_cases("rand", INSTANCES, most=2, best="brute-force")
    titles = [ax.get_title() for ax in draw_worst(losses).axes]
    for loss, left, right in zip(losses, titles[::2], titles[1::2], strict=True):
        assert f"instance {loss.name}: {loss.gap} worse" in left
        assert f"rand: total_score {loss.result.sort_key}" in left
        assert f"brute-force: total_score {loss.best.sort_key}" in right
    mlsched.plot_losses(losses, tmp_path / "worst.png")
    assert (tmp_path / "worst.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match="instances: expected at least one"):
        mlsched.worst_cases("rand", [])


def test_an_interrupt_keeps_the_worst_so_far():
    reported: list[list[str]] = []

    def report(losses):
        reported.append([loss.name for loss in losses])
        if len(reported) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        mlsched.worst_cases("rand", INSTANCES, most=2, best="brute-force", report=report)
    first = dict(list(INSTANCES.items())[:3])
    expected = mlsched.worst_cases("rand", first, most=2, best="brute-force")
    assert ([loss.name for loss in stopped.value.losses], stopped.value.done) == ([loss.name for loss in expected], 3)
    assert reported[-1] == [loss.name for loss in expected]
