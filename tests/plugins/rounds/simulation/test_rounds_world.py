"""The world of rounds: its numbered lines by hand, the independent replay, and its bound."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from draws import draws
from gavel_examples import small
from hypothesis import given, settings

import mlsched
from mlsched.cli.main import main
from mlsched.core.errors import InvalidInput, Stuck
from mlsched_rounds.heuristics.shares import PACKING, POLICIES
from mlsched_rounds.simulation import SIMULATION, Options
from mlsched_rounds.simulation import strategies as drawn
from mlsched_rounds.simulation.mechanism import play
from mlsched_rounds.simulation.question import whole
from mlsched_rounds.simulation.servers import assign
from mlsched_rounds.simulation.workload import MICRO

TABLE = "model,gpus,fast,slow\na,1,10,5\nb,1,1,1\nc,2,2,0\n"


def run(folder, log, cluster, policy="fifo_perf", **options):
    return mlsched.simulate(
        small(folder, log="model,submit,gpus,steps\n" + log, table=TABLE, cluster=cluster),
        f"gavel:policy={policy}",
        options=options,
    )


def test_a_round_lasts_until_its_last_job_has_run_its_steps(tmp_path) -> None:
    """Lines 6 and 7: the first job ends after 50 s, its GPU idles until the other's 360 s are over."""
    found = run(tmp_path, "a,0,1,500\nb,0,1,400\na,10,1,10\n", "fast=1,slow=1")
    c = found.log.columns()
    assert c["start"].tolist() == [0, 0, 360 * MICRO, 360 * MICRO]
    assert found.jobs["end"][0] == 50
    assert found.violations() == []


def test_completion_is_the_jobs_own_and_the_makespan_the_rounds(tmp_path) -> None:
    found = run(tmp_path, "a,100,1,500\nb,100,1,30\n", "fast=2")
    assert found.jobs["completion"].tolist() == [50, 30]
    assert found.summary()["makespan_s"] == 150


def test_a_remainder_below_the_gpus_drops_the_job_as_printed_and_runs_as_meant(tmp_path) -> None:
    """720 steps a round on two GPUs leave a remainder of 1: a slice with a GPU that gets no step fails."""
    log = "c,0,2,721\n"
    printed = run(tmp_path, log, "fast=2")
    assert printed.summary()["dropped"] == 1
    assert int(printed.log.columns()["failed"].sum()) == 5
    assert printed.violations() == []
    meant = run(tmp_path, log, "fast=2", remainder="run")
    assert meant.summary()["dropped"] == 0
    assert meant.jobs["completion"].tolist() == [360.5]


def test_fifo_as_printed_runs_on_the_last_type_alone(tmp_path) -> None:
    log = "".join("a,0,1,36000\n" for _ in range(6))
    printed = run(tmp_path, log, "slow=6,fast=1", policy="fifo")
    assert set(printed.log.columns()["type"].tolist()) == {0}  # "slow" is the last in the alphabet
    meant = run(tmp_path, log, "slow=6,fast=1", policy="fifo", fifo="drawn")
    assert set(meant.log.columns()["type"].tolist()) == {0, 1}


def test_fifo_gives_no_job_a_type_on_which_it_cannot_run(tmp_path) -> None:
    """Both types have room for job 0, and FIFO as printed takes the last in the alphabet, on which its rate is 0."""
    line = r"fifo: at 0 s .*1 of 1 jobs wait: job 0 \(c\) on 2 GPUs was given no type .*take .* fifo_perf"
    with pytest.raises(Stuck, match=line):
        run(tmp_path, "c,0,2,100\n", "fast=2,slow=2", policy="fifo")
    assert run(tmp_path, "c,0,2,100\n", "fast=2,slow=2").jobs["end"].tolist() == [50]


@pytest.mark.parametrize("interpretation", ["stale", "drawn"])
@pytest.mark.parametrize("seed", range(4))
def test_a_job_that_does_not_run_everywhere_ends_under_fifo(tmp_path, interpretation: str, seed: int) -> None:
    """Both places at which Gavel's program gives out types check the real rates, so that the second job waits."""
    (tmp_path / "rates.csv").write_text("model,gpus,v100,k80\nany,1,10,10\nnok80,1,10,0\n")
    (tmp_path / "jobs.csv").write_text("model,submit,gpus,steps\nany,0,1,3600\nnok80,0,1,7200\nany,0,1,10800\n")
    jobs = mlsched.workload(
        tmp_path / "jobs.csv", "rounds", throughputs=str(tmp_path / "rates.csv"), cluster="v100=1,k80=1"
    )
    found = mlsched.simulate(jobs, "gavel:policy=fifo", options={"reset": 0, "fifo": interpretation, "seed": seed})
    assert (found.violations(), found.summary()["dropped"]) == ([], 0)
    assert found.jobs["end"].max() <= 1440


@pytest.mark.parametrize("log", ["c,0,2,1\n", "c,0,2,1\na,0,1,100\n"])
def test_runs_that_drop_jobs_are_not_held_to_the_bound(tmp_path, capsys, log) -> None:
    """One step on two GPUs is never done as printed; with every job dropped there is no mean completion time."""
    found = run(tmp_path, log, "fast=3")
    assert found.summary()["dropped"] == 1
    assert found.gaps == {}
    command = ["simulate", "gavel:policy=fifo_perf", "--simulator", "gavel", "--trace", tmp_path / "log.csv"]
    more = ["--cluster", "fast=3", "--set", f"throughputs={tmp_path / 'table.csv'}"]
    with pytest.raises(SystemExit) as ended:
        main([*map(str, command), *more])
    assert not ended.value.code
    assert "above its bound" not in capsys.readouterr().out
    assert set(run(tmp_path, log, "fast=3", remainder="run").gaps) == {"mean_completion_s", "makespan_s"}


def test_jobs_that_can_never_start_are_refused_with_a_remedy_that_there_is(tmp_path) -> None:
    with pytest.raises(InvalidInput, match="enlarge the cluster, or take them out of the log"):
        run(tmp_path, "c,0,2,100\n", "fast=1")


@pytest.mark.parametrize(
    ("weights", "asked"),
    [
        ([500_000, 1_000_000], [1, 2]),
        ([1_500_000, 1_000_000], [3, 2]),
        ([3_000_000, 3_000_000], [1, 1]),
        ([1, 10**12], [1, 10**6]),
        ([999_999_999_999, 10**12], [10**6, 10**6]),
    ],
)
def test_weights_keep_their_ratio_where_a_round_is_asked(weights, asked) -> None:
    assert whole(np.array(weights)).tolist() == asked


def test_resuming_costs_steps_but_not_time(tmp_path) -> None:
    log = "".join("a,0,1,9000\n" for _ in range(3))
    found = run(tmp_path, log, "fast=2", policy="isolated", resume=20)
    assert set(found.log.columns()["steps"].tolist()) >= {3600, 3400}
    assert found.violations() == []
    assert (
        found.summary()["mean_completion_s"]
        > run(tmp_path, log, "fast=2", policy="isolated").summary()["mean_completion_s"]
    )


def test_leases_are_kept_and_larger_jobs_choose_first() -> None:
    before = {1: (0, 1), 2: (2,)}
    assert assign([(2, 1), (1, 2), (3, 1)], 4, before, {1, 2, 3}) == {1: (0, 1), 2: (2,), 3: (3,)}
    assert assign([(2, 1), (4, 2)], 3, {2: (0,)}, {2, 4}) == {4: (0, 1), 2: (2,)}
    assert assign([(5, 1)], 1, {}, set()) == {}


@given(drawn.workloads(), drawn.options())
def test_every_run_is_sound_and_above_its_bound(workload, options) -> None:
    found = mlsched.simulate(workload, drawn.anything, options=dataclasses.asdict(options))
    assert found.violations() == []
    summary = found.summary()
    if not summary["dropped"]:
        assert summary["makespan_s"] >= found.bound["makespan_s"] - 1e-6
        assert summary["mean_completion_s"] >= found.bound["mean_completion_s"] - 1e-6


@settings(max_examples=draws(5, 1000))
@given(drawn.workloads())
def test_every_policy_of_shares_runs_soundly(workload) -> None:
    for policy in [*POLICIES, *PACKING]:
        if policy == "allox" and (workload.gpus > 1).any():
            continue
        if policy in PACKING and workload.packing is None:
            continue
        try:
            found = mlsched.simulate(workload, f"gavel:policy={policy}")
        except Stuck:
            continue  # as Gavel's would: a job whose type the policy has given to others waits for ever
        assert found.violations() == [], policy


def kinds(found, rows) -> set[str]:
    """The kinds of what the replay finds where the log has these rows."""
    kept = list(found.log.rows)
    found.log.rows[:] = rows
    said = {sentence.partition(":")[0] for sentence in found.violations()}
    found.log.rows[:] = kept
    return said


def with_changes(found, *rows, **changes):
    """The log's rows, with these changes of these rows."""
    every = [dict(zip(found.log.names, row, strict=True)) for row in found.log.rows]
    return [tuple((row | changes if k in rows else row).values()) for k, row in enumerate(every)]


@pytest.mark.parametrize(
    ("rows", "changes", "said"),
    [
        ([0], {"job": 3}, {"log", "steps", "lost job"}),
        ([0], {"job": -1}, {"log", "steps", "lost job"}),
        ([0], {"type": 2}, {"log", "steps", "lost job"}),
        ([0], {"round": -1}, {"log", "steps", "lost job"}),
        ([4], {"end": 499 * MICRO}, {"log", "lost job"}),
        ([0], {"start": 7}, {"round", "time"}),
        ([4], {"start": 500 * MICRO + 3}, {"round", "time"}),
        ([4], {"start": 500 * MICRO + 2}, set()),
        ([2, 3], {"start": 10 * MICRO}, {"round", "time"}),  # when a job comes, but in the middle of a round
        ([1], {"type": 0}, {"capacity"}),
        ([1], {"job": 0}, {"two places", "steps", "lost job"}),
        ([1], {"job": 2}, {"arrival", "steps", "end", "lost job"}),
        ([4], {"job": 0}, {"end", "lost job"}),
        ([3], {"end": 400 * MICRO + 3}, {"time"}),
        ([3], {"end": 400 * MICRO + 2}, set()),
        ([3], {"steps": 39}, {"steps", "lost job"}),
        ([3], {"steps": 41}, {"steps"}),
        ([2], {"failed": 1}, {"failure", "lost job"}),
    ],
)
def test_the_replay_finds_what_is_tampered_with(tmp_path, rows, changes, said) -> None:
    """Jobs of 10 and 1 steps/s run side by side for a round and a part of one; the third comes at 10 s, and waits."""
    found = run(tmp_path, "a,0,1,5000\nb,0,1,400\na,10,1,10\n", "fast=1,slow=1")
    assert kinds(found, found.log.rows) == set()
    assert kinds(found, with_changes(found, *rows, **changes)) == said


def test_the_replay_counts_failures_and_what_resuming_costs(tmp_path) -> None:
    dropped = run(tmp_path, "c,0,2,721\n", "fast=2")
    rows, more = list(dropped.log.rows), (6, 0, 0, 362_500_000, 363_000_000, 1, 1, 1, -1)
    assert kinds(dropped, rows[:-1]) == {"lost job"}
    assert kinds(dropped, [*rows, more]) == {"end"}
    assert kinds(dropped, with_changes(dropped, 3, failed=0)) == {"failure", "end"}  # it would have been done by then
    late = run(tmp_path, "a,0,1,10\na,100,1,10\n", "fast=1")
    assert kinds(late, late.log.rows) == set()
    assert kinds(late, with_changes(late, 1, start=99 * MICRO, end=100 * MICRO)) == {"arrival", "round"}
    resumed = run(tmp_path, "a,0,1,9000\n" * 3, "fast=2", policy="isolated", resume=20)
    short = [k for k, row in enumerate(resumed.log.rows) if row[resumed.log.names.index("steps")] == 3400]
    assert "steps" in kinds(resumed, with_changes(resumed, short[0], steps=3600))


@pytest.mark.parametrize(
    ("steps", "done"),
    [
        (1775, [1775]),  # 355 s, 5 s less than a round: nothing is lost
        (1776, [1676, 100]),
        (1788, [1687, 101]),  # 1788 (357.6 - 20) / 357.6 is 1688, and a product of floats falls below
    ],
)
def test_what_resuming_costs_is_the_same_to_the_replay_at_its_limits(tmp_path, steps, done) -> None:
    found = run(tmp_path, f"a,0,1,3600\na,0,1,{steps}\n", "slow=1", resume=20)
    assert found.log.columns()["steps"].tolist() == [1800, 1800, *done]
    assert found.violations() == []


def test_the_replay_knows_a_rate_to_its_last_digit(tmp_path) -> None:
    """A round of ten hours does 12,000 steps at a third of a step per second, as floats have it."""
    workload = small(
        tmp_path,
        log="model,submit,gpus,steps\nthird,0,1,24000\n",
        table=TABLE + "third,1,0.3333333333333333,0\n",
        cluster="fast=1",
    )
    assert workload.fine[0, 0] > 0
    found = mlsched.simulate(workload, "gavel:policy=fifo_perf", options={"round": 36000})
    assert found.log.columns()["steps"].tolist() == [12000, 12000]
    assert found.violations() == []


def test_runs_are_saved_and_loaded(tmp_path) -> None:
    found = run(tmp_path, "a,0,1,500\nb,0,1,400\n", "fast=1,slow=1")
    mlsched.save(found, tmp_path / "run.json")
    assert mlsched.load(tmp_path / "run.json") == found


def test_policies_of_shares_and_rules_stand_side_by_side_on_the_command_line(tmp_path, capsys) -> None:
    small(tmp_path)
    command = [
        "simulate",
        "gavel:policy=max_min",
        "lp-rounding",
        "--simulator",
        "gavel",
        "--trace",
        tmp_path / "log.csv",
    ]
    more = ["--cluster", "fast=2,slow=1", "--set", f"throughputs={tmp_path / 'table.csv'}", "--set", "remainder=run"]
    with pytest.raises(SystemExit) as ended:
        main([*map(str, command), *more])
    assert not ended.value.code
    shown = capsys.readouterr().out
    assert "mean_completion_s above its bound" in shown
    assert "none: who runs where is asked every round (lp-rounding)" in shown


def test_a_log_without_a_table_or_a_cluster_is_refused_in_a_line(tmp_path) -> None:
    small(tmp_path)
    with pytest.raises(InvalidInput, match="give throughputs=TABLE"):
        mlsched.workload(str(tmp_path / "log.csv"), "rounds", cluster="fast=1")
    with pytest.raises(InvalidInput, match="give the cluster"):
        mlsched.workload(str(tmp_path / "log.csv"), "rounds", throughputs=str(tmp_path / "table.csv"))


def test_the_same_seed_gives_the_same_run() -> None:
    workload = SIMULATION.sources["mixed"](jobs=30)
    one, two = (play(workload, POLICIES["max_min"], Options(seed=3)).rounds for _ in range(2))
    assert one.slices == two.slices
    assert np.isfinite(list(one.ended.values())).all()


@pytest.mark.parametrize(
    ("log", "options", "line"),
    [
        ("slow,0,1,9\na,0,1,9\n", {}, r"job 0 \(slow\) does no step on each of its GPUs in a round of 360 s; "),
        ("slow,0,1,9\nslow,9,1,9\n", {"remainder": "run"}, "does no step in a round of 360 s, and so are 1 more"),
        ("c,0,2,1\n", {}, "does no step on each of its GPUs .*give remainder=run"),
    ],
)
def test_jobs_that_are_never_done_are_said_at_once(tmp_path, log, options, line) -> None:
    table = TABLE + "slow,1,0.002,0.001\n"
    workload = small(tmp_path, log="model,submit,gpus,steps\n" + log, table=table, cluster="fast=2,slow=1")
    found = mlsched.simulate(workload, "gavel:policy=fifo_perf", options=options)
    assert re.search(line, found.assumed["dropped"])
    assert found.summary()["dropped"] == log.count("slow") + log.count("c,")
    assert found.violations() == []


def test_decisions_count_how_often_a_policy_of_shares_is_asked(tmp_path) -> None:
    found = run(tmp_path, "a,0,1,36000\nb,5000,1,400\n", "fast=1,slow=1")
    assert found.summary()["decisions"] == 2
