"""Every system of the five papers, and every baseline that they compare with: listed, run, judged, in `bench`, in its
paper's experiment, and better than random actions or marked where it is listed."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from mlsched import api
from mlsched.benchmark.suites import SUITES
from mlsched.benchmark.tasks import tasks_of
from mlsched.core.registry import registry
from mlsched_papers.chic import grid as chic
from mlsched_papers.fitgpp import grid as fitgpp
from mlsched_papers.harmony import grid as harmony
from mlsched_papers.mlfs import grid as mlfs
from mlsched_papers.slaq import grid as slaq

#: Paper -> its problem, its systems, what it compares them with, and the solvers (as text) of its experiment.
PAPERS = {
    "FitGpp": (
        "preemption",
        {"fitgpp"},
        {"fifo", "lrtp", "rand"},
        lambda: [case.policy.text for case in fitgpp.cases(fitgpp.QUICK)],
    ),
    "SLAQ": ("quality", {"slaq"}, {"fair"}, lambda: [case.policy.text for case in slaq.cases(slaq.QUICK)]),
    "Harmony": (
        "placement",
        {"harmony"},
        {"load-balancing", "tetris", "lif-linear", "lif-quadratic", "bin-packing", "standalone"},
        lambda: [case.policy.text for case in harmony.cases(harmony.QUICK)],
    ),
    "Chic": (
        "workers",
        {"chic", "chic-pair"},
        {"optimus", "drf"},
        lambda: [case.text for case in chic.cases(chic.QUICK)],
    ),
    "MLFS": (
        "taskgraph",
        {"mlf-h", "mlf-rl", "mlf-c", "mlfs", "mlfs-h"},
        {"graphene", "tiresias", "hypersched", "gandiva", "slaq", "fair", "mirhoseini-rl"},
        lambda: [*(case.policy.text for case in mlfs.cases(mlfs.QUICK)), "mlf-c"],  # MLF-C is in mlfs, mlfs-h
    ),
}
#: What docs/results/against-random.md shows.
RESULTS = Path(__file__).parents[3] / "docs" / "results"
#: Policies for one size of cluster, and a preset of that size.
SIZES = {"harmony": "6x5"}


@functools.cache
def benched():
    """Problem -> who is asked by `mlsched bench quick`."""
    found = {}
    for task in tasks_of(SUITES["quick"], None, reference=False):
        found.setdefault(task.problem, set()).add(task.solver)
    return found


@pytest.mark.parametrize("paper", list(PAPERS))
def test_every_system_and_baseline_is_listed_runs_and_is_in_bench_and_its_experiment(paper):
    problem, systems, baselines, texts = PAPERS[paper]
    names = systems | baselines
    assert names <= {a.name for a in registry().available(problem)}
    assert names <= {text.partition(":")[0] for text in texts()}
    assert names <= benched()[problem]
    for name in sorted(names):
        inst = api.generate(problem, SIZES.get(name, "small"), seed=7)
        assert inst.violations(api.solve(inst, name, seed=1).plan) == [], name


@pytest.mark.parametrize("problem", [problem for problem, *_ in PAPERS.values()])
def test_every_rule_and_policy_is_better_than_random_actions_or_marked(problem):
    document = json.loads((RESULTS / f"against-random-{problem}.json").read_text(encoding="utf-8"))["document"]
    rows = {row[0].partition(":")[0]: row for row in document["tables"][0]["rows"][1:]}
    known = {a.name: a for a in registry().available(problem) if a.kind != "exact" and a.name != "uniform-random"}
    assert set(rows) == set(known), "measured is what is registered"
    systems = next(s | b for p, s, b, _ in PAPERS.values() if p == problem)
    page = (RESULTS / "against-random.md").read_text(encoding="utf-8").splitlines()
    prose = "\n".join(line for line in page if not line.startswith("|"))
    for name in systems:
        named = f"`{name}`" in prose  # the page names a system that its workloads do not decide
        assert "better" in rows[name] or named or "not recommended" in known[name].summary, name
    for name, row in rows.items():
        worse = "worse" in row and "better" not in row
        assert not worse or "not recommended" in known[name].summary, name
