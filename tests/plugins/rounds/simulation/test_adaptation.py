"""Jobs that change their batch sizes: against what Shockwave's own simulator prints, and by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from shockwave_apart import Apart

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.fields import ints
from mlsched.instances.traces.throughputs import Throughputs
from mlsched_rounds.heuristics.forecast import Forecast
from mlsched_rounds.simulation import Workload, batch_sizes
from mlsched_rounds.simulation import strategies as drawn
from mlsched_rounds.simulation.adaptation import Adaptation, Progress
from mlsched_rounds.simulation.batch_sizes import Job, adaptation
from mlsched_rounds.simulation.files import read_jobs
from mlsched_rounds.simulation.workload import MICRO

#: Shockwave's cluster and mechanism.
OPTIONS = {"round": 120, "resume": 20, "reset": 1000, "remainder": "run"}


def traced(data, **options):
    folder = data / "shockwave"
    trace, table = folder / "120_0.2_5_100_40_25.trace.gz", folder / "tacc_throughputs.json.gz"
    return read_jobs(trace, throughputs=table, cluster="v100=32", **options)


@pytest.mark.parametrize(("policy", "name"), [("gandiva_fair", "gandiva_fair"), ("allox_gangs", "allox")])
def test_policies_without_a_solver_end_as_shockwaves_simulator_prints(shared_data, policy, name) -> None:
    printed = json.loads((shared_data / "shockwave/reference_tacc32.json").read_text())["rerun_here"][name]
    run = mlsched.simulate(traced(shared_data), f"gavel:policy={policy}", options=OPTIONS)
    summary = run.summary()
    assert [summary["makespan_s"], summary["mean_completion_s"]] == pytest.approx(printed, abs=5.1e-4)
    assert run.violations() == []
    assert summary["dropped"] == 0
    assert summary["makespan_s"] > run.bound["makespan_s"] > 0.5 * summary["makespan_s"]


@pytest.mark.parametrize(
    ("name", "gpus"),
    [("120_0.2_5_100_40_25", 32), ("220_0.2_5_100_25_4", 64), ("460_0.2_5_100_10_1", 128)][: draws(2, 3)],
)
def test_every_job_of_its_traces_ends_as_in_a_simulator_written_apart(shared_data, name, gpus) -> None:
    trace, table = (shared_data / "shockwave" / file for file in (f"{name}.trace.gz", "tacc_throughputs.json.gz"))
    workload = read_jobs(trace, throughputs=table, cluster={"v100": gpus})
    run = mlsched.simulate(workload, "gavel:policy=gandiva_fair", options=OPTIONS)
    apart = Apart(trace, table, gpus, batch_sizes.DOUBLES).run()
    assert run.jobs["completion"] == pytest.approx(apart, abs=1e-6)


def test_with_constant_batch_sizes_jobs_take_longer(shared_data) -> None:
    adapting, constant = traced(shared_data), traced(shared_data, adapt=False)
    assert constant.adaptation is None
    assert (adapting.shortest <= constant.shortest * (1 + 1e-12)).all()
    assert adapting.shortest.sum() < 0.9 * constant.shortest.sum()


def test_shockwave_plans_windows_and_its_plans_stand(shared_data) -> None:
    workload = traced(shared_data, limit=18)
    run = mlsched.simulate(workload, "shockwave", options=OPTIONS)
    assert run.violations() == []
    summary = run.summary()
    assert 0 < summary["decisions"] < summary["rounds"]
    assert summary["dropped"] == 0
    again = mlsched.simulate(workload, "shockwave", options=OPTIONS)
    assert again == run
    fifo = mlsched.simulate(workload, "gavel:policy=fifo_perf", options=OPTIONS).summary()
    assert summary["makespan_s"] < 1.5 * fifo["makespan_s"]


def test_shockwave_runs_on_several_types_without_epochs() -> None:
    workload = mlsched.workload("synthetic:mixed", "rounds", jobs=12, seed=3)
    run = mlsched.simulate(workload, "shockwave")
    assert run.violations() == []
    assert run.summary()["dropped"] == 0
    with pytest.raises(InvalidInput, match=r"plan: .*leave out plan or shares"):
        mlsched.simulate(workload, "shockwave", options={"shares": "fifo_perf"})


@given(drawn.workloads(), drawn.options())
def test_shockwaves_plans_run_soundly_on_any_workload(workload, options) -> None:
    chosen = {"round": options.round, "resume": options.resume, "emptied": options.emptied, "order": "list"}
    run = mlsched.simulate(workload, "shockwave", options=chosen)
    assert run.violations() == []
    if not run.summary()["dropped"]:
        assert run.summary()["mean_completion_s"] >= run.bound["mean_completion_s"] - 1e-6


def one(**fields) -> Adaptation:
    """A job with epochs of 100 samples in batches of 10 and 20, the larger wanted from the second epoch on."""
    given = {
        "samples": [100],
        "batch": [[10, 20]],
        "rate": [[[10**12], [10**12]]],
        "fine": [[[0], [0]]],
        "ahead": [0],
        "wants_from": [[0, 2]],
        "wants": [[0, 1]],
        "believed_from": [[0, 2]],
        "believed": [[0, 1]],
    }
    return Adaptation(**given | fields)


def test_a_batch_size_changes_at_the_end_of_the_slice_after_the_wish() -> None:
    progress = Progress(one(), ints([100]))
    assert not progress.ran(0, 10)  # one epoch of ten is over
    assert not progress.ran(0, 8)  # it is in the second: the wish
    assert progress.regime == [0]
    assert progress.ran(0, 3)  # 21 steps: the third epoch has begun, and counts as done
    assert (progress.regime, progress.done, progress.all) == ([1], [15], [50])
    assert progress.left(0) == 35
    assert not progress.ran(0, 35)
    assert progress.left(0) == 0


def test_whoever_looks_ahead_wishes_an_epoch_sooner() -> None:
    progress = Progress(one(ahead=[1]), ints([100]))
    progress.ran(0, 8)
    assert progress.ran(0, 1)
    assert progress.done == [5]


def test_the_number_of_epochs_is_kept() -> None:
    """Shockwave's own example: 3,500 steps of 4,096 samples are 121 epochs of 117,907, and 1,815 steps of 8,192."""
    job = one(samples=[117_907], batch=[[4096, 8192]], wants_from=[[0, 1]])
    progress = Progress(job, ints([3500]))
    progress.ran(0, 29)
    progress.ran(0, 29)
    assert (progress.all, progress.done) == ([1815], [30])


def test_what_is_left_of_a_job_when_a_change_gives_it_away(tmp_path) -> None:
    """Six steps are one epoch of ten samples a step; after the first slice of three the change leaves none."""
    workload = Workload(
        types=("gpu",),
        capacity=[1],
        submit=[0],
        steps=[6],
        gpus=[1],
        rate=[[10**12]],
        adaptation=one(samples=[60], wants_from=[[0, 1]]),
    )
    ends = {}
    for reading in ("failed", "ended"):
        options = {"round": 2, "emptied": reading}
        run = mlsched.simulate(workload, "gavel:policy=fifo_perf", options=options)
        assert run.violations() == []
        assert mlsched.simulate(workload, "fifo", options=options).log.rows == run.log.rows
        ends[reading] = [run.jobs["completion"].tolist(), len(run.log.rows), run.summary()["dropped"]]
        if reading == "ended":
            late = (2, 0, 0, 4 * MICRO, 4 * MICRO, 0, 1, 1, -1)
            run.log.rows.append(late)
            assert [wrong.partition(":")[0] for wrong in run.violations()] == ["end"]
    assert ends == {"failed": [[4.0], 7, 0], "ended": [[4.0], 2, 0]}


def test_patterns_of_accordion_and_of_gradient_noise_scale() -> None:
    names = ("LM (batch size 20)", "LM (batch size 40)", "LM (batch size 80)", "ResNet-50 (batch size 64)",
             "ResNet-50 (batch size 128)")  # fmt: skip
    table = Throughputs(("v100",), {(name, 1): {"v100": 1.0} for name in names})
    jobs = [
        Job("LM (batch size 20)", 1, 2984 * 50, "gns"),
        Job("ResNet-50 (batch size 64)", 1, 1563 * 40, "accordion"),
        Job("LM (batch size 80)", 1, 746 * 5, "static"),
        Job("LM (batch size 80)", 1, 746 * 5, "gns"),
    ]
    found = adaptation(jobs, table, ("v100",))
    assert found is not None
    epochs = found.epochs(ints(job.steps for job in jobs))
    assert epochs == [50, 40, 5, 5]
    gns, accordion, *constant = (found.beliefs(j, count) for j, count in enumerate(epochs))
    # Doubled at epochs 11 and 41; what is believed of the last epoch of the last of these is the log's batch size.
    assert gns == [0] * 11 + [1] * 30 + [2] * 8 + [0]
    # Epochs 0 to 9 and 30 to 39 are critical, and so are believed to be the first 30 %.
    assert accordion == [0] * 13 + [1] * 17 + [0] * 10
    assert found.wants_from[1].tolist()[:3] == [0, 10, 30]
    assert constant == [[0] * 5] * 2
    assert adaptation([Job("own", 1, 5, "gns")], table, ("v100",)) is None
    assert adaptation([Job("LM (batch size 80)", 1, 5, "")], table, ("v100",)) is None


def test_a_batch_size_that_was_not_measured_is_not_taken() -> None:
    table = Throughputs(("v100",), {("LM (batch size 40)", 1): {"v100": 1.0}})
    found = adaptation([Job("LM (batch size 40)", 1, 10**5, "gns")], table, ("v100",))
    assert found is not None
    assert found.batch.tolist() == [[40]]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"wants_from": [[1, 2]]}, "wants_from: every row must begin with epoch 0"),
        ({"believed_from": [[0, 2, 1]], "believed": [[0, 1, 0]]}, "believed_from: every row must .* never fall"),
        ({"wants": [[0, 2]]}, "wants: expected the number of a regime"),
        ({"batch": [[10, 0]]}, "wants: expected the number of a regime"),
    ],
)
def test_a_wrong_adaptation_is_one_line(fields, wrong) -> None:
    with pytest.raises(InvalidInput, match=wrong):
        one(**fields)


def test_a_workload_with_other_rates_than_its_first_regimes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="adaptation: the rates of each job's first regime"):
        Workload(types=("gpu",), capacity=[1], submit=[0], steps=[6], gpus=[1], rate=[[2 * 10**12]], adaptation=one())


def test_an_unknown_mode_of_a_trace_is_refused(tmp_path) -> None:
    line = "LM (batch size 80)\tpython\tdir\t--steps\t1\t100\t1\tfast\t1\t-1\t9\t0\n"
    (tmp_path / "one.trace").write_text(line)
    (tmp_path / "table.csv").write_text("model,gpus,v100\nLM (batch size 80),1,5\n")
    with pytest.raises(InvalidFile, match=r"one.trace, line 1.*mode.*static, accordion, gns"):
        read_jobs(tmp_path / "one.trace", throughputs=tmp_path / "table.csv", cluster="v100=1")


def test_a_forecast_spreads_the_epochs_that_remain() -> None:
    """Four epochs, two batch sizes of 10 and 2 s. At the start each is expected for half of them."""
    job = Forecast([16, 16, 32, 32], [10.0, 10.0, 2.0, 2.0], 100.0)
    # Weights 2 + 1 and 2 of 5, of four epochs: 2.4 and 1.6, less the one that has begun; int(3 + 1) epochs remain.
    assert job.remaining() == pytest.approx(1.4 * 10 + 1.6 * 2)
    job.done = 4
    assert job.remaining() == 1.0
    assert job.epoch() == pytest.approx(6.0)
    assert job.past() == 24.0


def test_a_profile_is_stretched_where_it_is_far_off() -> None:
    job = Forecast([1] * 4, [10.0] * 4, 100.0)
    job.calibrate(150.0, 20.0)
    assert job.seconds.tolist() == [10.0] * 4
    job.calibrate(100.0, 25.0)
    assert job.seconds.tolist() == pytest.approx([25.0] * 4)


def test_all_batch_sizes_of_the_table_are_powers_of_two_apart() -> None:
    for (model, batch, _), doubles in batch_sizes.DOUBLES.items():
        assert batch * 2 ** len(doubles) <= batch_sizes.LARGEST[model]
        assert (np.diff(doubles) > 0).all()
