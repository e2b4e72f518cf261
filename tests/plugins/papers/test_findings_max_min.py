"""Finding (c): verdicts computed from made-up measurements, and a tiny run."""

from __future__ import annotations

import pytest

from mlsched_papers.experiment import Settings
from mlsched_papers.findings import max_min
from mlsched_papers.slaq import grid as g
from mlsched_papers.slaq.measure import Metrics
from mlsched_papers.slaq.measured import SlaqView

INTERPRETATIONS = (g.base(0.8), g.base(1.0))


def section(**factors):
    """Five workloads where Algorithm 1 has 10 of everything and max-min 8, about; `factors` change it by metric."""
    runs = {}
    for interpretation in INTERPRETATIONS:
        for seed, noise in enumerate((0.99, 0.995, 1.0, 1.005, 1.01)):
            values = dict.fromkeys(max_min.COLUMNS, 10.0)
            runs[g.Case(interpretation, seed, g.SLAQ, interpretation.at)] = Metrics(values, {})
            lower = {name: 10 * factors.get(name, 0.8) * noise for name in values}
            runs[g.Case(interpretation, seed, g.MAX_MIN, interpretation.at)] = Metrics(lower, {})
    return max_min.section(max_min.FULL, [SlaqView(interpretation, runs) for interpretation in INTERPRETATIONS])


def verdicts(**factors):
    return {claim.name: claim.verdict for claim in section(**factors).claims}


def test_lower_everywhere_holds():
    assert set(verdicts().values()) == {"holds"}
    label, numbers = section().tables[0].rows[0]
    assert label == "load 0.8"
    assert [number.measured.mean for number in numbers] == pytest.approx([-20.0] * len(max_min.COLUMNS))


@pytest.mark.parametrize(
    ("metric", "claim"),
    [
        ("summed_loss", "max-min-summed-loss"),
        ("average_loss", "max-min-average-loss"),
        ("time_to_90_s", "max-min-time"),
        ("time_to_95_s", "max-min-time"),
    ],
)
def test_each_metric_decides_its_claim(metric, claim):
    assert verdicts(**{metric: 1.2}) == {**verdicts(), claim: "does not hold"}
    assert verdicts(**{metric: 1.001})[claim] == "undecided"


def test_the_sizes():
    full = max_min.cases(max_min.FULL)
    assert len(full) == len(set(full)) == 10 * 7 * 2
    assert {case.interpretation.load for case in full} == set(max_min.LOADS)


def test_a_tiny_run():
    found = max_min.measure(Settings(quick=True, jobs=6, seeds=2))
    assert [table.name for table in found.tables] == ["Finding c"]
    assert [len(numbers) for _, numbers in found.tables[0].rows] == [len(max_min.COLUMNS)]
    assert {e.interpretation for claim in found.claims for e in claim.measurements} == {"load 1"}
    assert "2 workloads of 6 jobs" in found.interpretations[0]
