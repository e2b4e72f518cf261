"""Logs of jobs that do steps, and tables of throughputs: what is read, and one clear line where it cannot be."""

from __future__ import annotations

import json

import pytest
from gavel_examples import LOG, TABLE, small

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.instances.traces.throughputs import read_throughputs
from mlsched_rounds.simulation.files import parse_types, read_jobs
from mlsched_rounds.simulation.workload import in_digits, never_start

GAVEL = {
    "v100": {"('vision', 1)": {"null": 10.123456789012345, "('vision', 1)": [5.0, 5.0]}, "('vision', 2)": {"null": 18}},
    "k80": {"('vision', 1)": {"null": 2.5}},
    "v100_unconsolidated": {"('vision', 2)": {"null": 9}},
}
TABS = "vision\tpython main.py\tfolder\t--steps\t1\t300\t1\t2\t-1.000000\t5.25\n"
MSR = "vision\tpython main.py\t--steps\t1\t300\t5.25\t1\n"
SHOCKWAVE = "vision\tpython main.py\tfolder\t--steps\t1\t300\t1\tgns\t1\t-1.0\t1418\t5.25\n"


def test_own_table_and_own_log(tmp_path) -> None:
    w = small(tmp_path)
    assert w.types == ("fast", "slow")
    assert w.capacity.tolist() == [2, 1]
    assert w.submit.tolist() == [0, 10_000_000, 400_000_000]
    assert w.steps.tolist() == [7200, 1440, 7201]
    assert w.rates.tolist() == [[10, 5], [4, 4], [20, 0]]
    assert w.cluster == "2 fast, 1 slow"
    assert not never_start(w)


@pytest.mark.parametrize("line", [TABS, MSR, SHOCKWAVE])
def test_traces_of_gavel_and_shockwave(tmp_path, line) -> None:
    (tmp_path / "table.json").write_text(json.dumps(GAVEL))
    (tmp_path / "jobs.trace").write_text(line)
    w = read_jobs(tmp_path / "jobs.trace", throughputs=tmp_path / "table.json", cluster="k80=4,v100=2")
    assert (w.types, w.steps.tolist(), w.gpus.tolist(), w.submit.tolist()) == (("k80", "v100"), [300], [1], [5_250_000])
    assert w.rates.tolist() == [[2.5, 10.123456789012345]]
    assert w.weight.tolist() == [2_000_000 if line is TABS else 1_000_000]


def test_rates_are_kept_to_the_last_digit(tmp_path) -> None:
    table = "model,gpus,fast\n" + "".join(f"m{k},1,{1 / (k + 3)!r}\n" for k in range(50))
    log = "model,submit,gpus,steps\n" + "".join(f"m{k},0,1,5\n" for k in range(50))
    w = small(tmp_path, log=log, table=table, cluster="fast=1")
    assert w.rates[:, 0].tolist() == [1 / (k + 3) for k in range(50)]
    assert in_digits(0.5) == (500_000_000_000, 0)


def test_durations_become_steps(tmp_path) -> None:
    log = "model,submit,gpus,duration\nvision,0,1,60\n"
    assert small(tmp_path, log=log).steps.tolist() == [600]
    (tmp_path / "log.csv").write_text(log)
    slow = read_jobs(tmp_path / "log.csv", throughputs=tmp_path / "table.csv", cluster="fast=1", measured_on="slow")
    assert slow.steps.tolist() == [300]


def test_limit_and_gpus_choose_jobs(tmp_path) -> None:
    small(tmp_path)
    arguments = {"throughputs": tmp_path / "table.csv", "cluster": "fast=2"}
    assert len(read_jobs(tmp_path / "log.csv", limit=2, **arguments).submit) == 2
    assert read_jobs(tmp_path / "log.csv", gpus=2, **arguments).gpus.tolist() == [2]


def test_clusters_in_words() -> None:
    assert parse_types("8:16:24") == {"v100": 8, "p100": 16, "k80": 24}
    assert parse_types("2:0:4") == {"v100": 2, "k80": 4}
    assert parse_types("h100=3, a100=2") == {"h100": 3, "a100": 2}
    for text in ("", "h100", "h100=x", "h100=1,h100=2", "h100=0"):
        with pytest.raises(InvalidInput, match="cluster: "):
            parse_types(text)


@pytest.mark.parametrize(
    ("log", "table", "cluster", "what"),
    [
        (LOG.replace("text", "sound"), TABLE, "fast=1", "model 'sound': is missing in .*table.csv"),
        (LOG.replace("text,10,1", "text,10,2"), TABLE, "fast=1", "'text' on 2 GPUs: .* has it on 1"),
        (LOG, TABLE, "quick=1", "GPU type 'quick': .* has fast, slow"),
        (LOG.replace("1440", "0"), TABLE, "fast=1", "line 3: steps: '0', expected at least 1"),
        (LOG.replace("1440", "many"), TABLE, "fast=1", "line 3: steps: 'many'"),
        (LOG.replace("10,1,", "-10,1,"), TABLE, "fast=1", "line 3: submit: '-10', expected a number >= 0"),
        (LOG.replace("10,1,", "nan,1,"), TABLE, "fast=1", "line 3: submit: 'nan'"),
        (LOG.replace("text,10,1", "text,10,0"), TABLE, "fast=1", "gpus: 0, expected at least 1"),
        ("model,submit,gpus,steps\n", TABLE, "fast=1", "jobs are missing"),
        ("model,submit,gpus,steps,weight\nvision,0,1,5,1e-7\n", TABLE, "fast=1", "line 2: weight: .*1e-07.*, .* 1e-06"),
        ("a\tb\tc\n", TABLE, "fast=1", "line 1: has 3 fields: a trace of Gavel has 7 or 10"),
        ("", TABLE, "fast=1", "is empty"),
        (LOG, TABLE, "fast=1,fast=2", "cluster: fast=1,fast=2, expected each type once; fast is there twice"),
        (LOG, TABLE, "new=1", "GPU type 'new': .* has fast, slow; name one of these, or add a column"),
        (LOG, TABLE.replace("10,5", "fast,5"), "fast=1", "line 2: fast: 'fast', expected steps per second"),
        (LOG, TABLE + "text,1,3,3\n", "fast=1", "line 5: model 'text' on 1 GPUs is there twice"),
        (LOG, "model,fast\nvision,1\n", "fast=1", "the header lacks 'gpus'"),
        (LOG, "model,gpus\nvision,1\n", "fast=1", "GPU types are missing in the header"),
        (LOG, '{"v100": 3}', "v100=1", "expected an object of GPU types"),
        (LOG, '{"v100": {}}', "v100=1", "jobs are missing"),
        (LOG, '{"v100": {"(1": {"null": 1}}}', "v100=1", "expected a name or"),
        (LOG, '{"v100": {"vision": {"null": -1}}}', "v100=1", "rate -1: expected a number"),
    ],
)
def test_bad_input_is_one_line_that_says_what_and_where(tmp_path, log, table, cluster, what) -> None:
    with pytest.raises(InvalidInput, match=what) as caught:
        small(tmp_path, log=log, table=table, cluster=cluster)
    assert "\n" not in str(caught.value)


def test_jobs_that_fit_nowhere_are_named(tmp_path) -> None:
    w = small(tmp_path, cluster="fast=1,slow=4")
    assert never_start(w) == ["job 2 needs 2 GPUs of one type and runs on fast, of 1 fast, 4 slow"]


def test_gavel_tables_leave_out_pairs_and_spread_jobs(tmp_path) -> None:
    (tmp_path / "table.json").write_text(json.dumps(GAVEL))
    table = read_throughputs(tmp_path / "table.json")
    assert table.types == ("k80", "v100")
    assert table.of("vision", 2) == {"k80": 0.0, "v100": 18.0}


def test_steps_of_quick_models_are_counted_by_powers_of_ten(tmp_path) -> None:
    """Two million steps at 20,000 per second are 200,000 tens at 2,000: as long, to the millisecond."""
    log = "model,submit,gpus,steps\nvision,0,1,2000004\ntext,0,1,40\n"
    workload = small(tmp_path, log=log, table=TABLE.replace("vision,1,10,5", "vision,1,20000,5"), cluster="fast=2")
    assert workload.steps.tolist() == [200000, 40]
    assert workload.rates[:, 0].tolist() == [2000.0, 4.0]
    assert workload.source.endswith("steps of vision by 10")
    run = mlsched.simulate(workload, "gavel:policy=fifo_perf")
    assert run.jobs["completion"] == pytest.approx([100.0002, 10.0], abs=1e-3)
