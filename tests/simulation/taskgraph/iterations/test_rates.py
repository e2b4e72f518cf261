"""Rates of a log's jobs by type of node: from a table, from the log; what is refused; and how far a job gets."""

from __future__ import annotations

import json

import installed
import numpy as np
import pytest

import mlsched
from mlsched.cli.main import run
from mlsched.core.errors import InvalidInput
from mlsched.simulation.nodes import parse_nodes

LOG = """submit,duration,gpus,model,gpu_type,rates
0,3600,8,resnet,v100,
60,1800,2,lm,k80,
120,600,1,tiny,v100,
180,600,0.5,other,v100,v100=2|k80=8
"""
TABLE = """model,gpus,v100,k80
resnet,8,40,10
lm,2,9,3
tiny,1,3,0
"""
CLUSTER = "2x(8gpu:V100)+1x(8gpu:k80)"
M = 10**6


@pytest.fixture
def files(tmp_path):
    def written(log=LOG, table=TABLE):
        (tmp_path / "log.csv").write_text(log)
        (tmp_path / "rates.csv").write_text(table)
        return tmp_path / "log.csv", tmp_path / "rates.csv"

    return written


def made(files, log=LOG, table=TABLE, cluster=CLUSTER, **options):
    log, table = files(log, table)
    options = {"throughputs": str(table), "gpu_types": "ignore", "tick": 1} | options
    return mlsched.workload(str(log), cluster=cluster, **options)


def slowness(jobs):
    """Of each job and type, by name."""
    rows = jobs.slowness[jobs.class_of[jobs.template]]
    return {name: rows[:, m].tolist() for m, name in enumerate(jobs.type_names)}


def test_durations_are_on_the_type_that_the_log_names(files):
    jobs = made(files)
    # resnet is 4 times as slow on k80; lm ran on k80, and is 3 times as fast on v100; the last job is slower on v100.
    assert slowness(jobs) == {"v100": [M, 333_333, M, M], "k80": [4 * M, M, M, M // 4]}
    may = jobs.eligible[jobs.class_of[jobs.template]]
    assert may[:, jobs.node_type == jobs.type_names.index("k80")].tolist() == [[1], [1], [0], [1]]
    assert "durations are on the type that the log names" in jobs.source


def test_durations_may_all_be_on_one_type(files):
    assert slowness(made(files, measured_on="v100"))["k80"] == [4 * M, 3 * M, M, M // 4]


def test_types_that_change_nothing_are_said_to(files):
    log, said = "submit,duration,gpus,model\n0,60,1,lm\n", "jobs run alike on k80, v100: there are no rates"
    assert said in made(files, log, throughputs="").source
    assert said not in made(files, log, cluster="2x(8gpu:v100)", throughputs="").source
    named = LOG.replace("v100=2|k80=8", "")
    assert said in made(files, named, throughputs="", gpu_types="ignore").source
    assert said not in made(files, named, throughputs="", gpu_types="log").source
    assert said not in made(files, log.replace("lm", "tiny"), measured_on="v100").source


def test_a_type_that_the_log_asks_for_is_kept_to_unless_it_is_ignored(files):
    jobs = made(files, gpu_types="log")
    assert jobs.eligible[jobs.class_of[jobs.template]].tolist() == [[1, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 0]]


def test_a_run_by_hand(files):
    """On a k80 node alone: 4 x 3600 s, then the job of 2 GPUs as long as it ran there."""
    log = "submit,duration,gpus,model\n0,3600,8,resnet\n60,1800,2,lm\n"
    played = mlsched.simulate(made(files, log, cluster="1x(8gpu:k80)", measured_on="v100"), "fifo")
    assert played.jobs["completion"].tolist() == [14_400, 14_400 + 5400]
    assert played.violations() == []
    assert played.bound["makespan"] <= 14_400 + 5400


def test_a_ratio_that_is_no_whole_number_of_ppm_costs_no_tick_of_its_own(files):
    """3 ticks x 2/3 are 2 ticks, and 4 x 1/3 not 1."""
    table = "model,gpus,v100,k80\na,1,2,3\nb,1,1,3\n"
    log = "submit,duration,gpus,model\n0,180,1,a\n0,240,1,b\n"
    jobs = made(files, log, table, cluster="1x(2gpu:k80)", measured_on="v100", tick=60)
    played = mlsched.simulate(jobs, "fifo")
    assert played.jobs["completion"].tolist() == [2, 2]
    assert played.bound == {"total_jct": 4, "makespan": 2}
    assert jobs.cluster == "1x(2 gpu: k80)"


def test_a_job_without_gpus_takes_as_long_everywhere(files):
    log = "submit,duration,gpus,cpus,model\n0,600,0,4,any\n0,600,1,4,tiny\n"
    jobs = made(files, log, cluster="1x(8cpu,1gpu:v100)+1x(8cpu)", measured_on="v100")
    assert jobs.type_names == ("no GPU", "v100")
    assert slowness(jobs)["no GPU"][0] == M
    assert jobs.eligible[jobs.class_of[jobs.template]].tolist() == [[1, 1], [1, 0]]


def test_types_in_the_text_of_a_cluster():
    nodes = parse_nodes("2x(32cpu,8gpu:v100) + 1x(4cpu)")
    assert nodes.model == ("v100", "v100", "")
    assert nodes.gpus.tolist() == [8, 8, 0]
    assert isinstance(parse_nodes("2x(8gpu)"), np.ndarray)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"cluster": "2x(8gpu)"}, "throughputs: types of nodes are missing; give cluster="),
        ({"cluster": "2x(8gpu:v100)+1x(8gpu)"}, "node 'node-2' has GPUs without a type; give each shape's, as in 8gpu"),
        ({"cluster": "2x(8gpu:h100)"}, "job 'line-2': nodes have GPUs of type h100, .* has v100, k80; add it"),
        ({"cluster": "2x(0.5gpu:v100)"}, "expected an integer number of GPUs per type; write for example"),
        ({"cluster": "2x(8cpu:v100)"}, "'8cpu:v100' is not an amount"),
        ({"measured_on": "a100"}, "the type its duration is of, 'a100', has no rate in"),
        ({"measured_on": "k80"}, "job 'line-4': its duration is of k80, where its rate in .* is 0"),
        ({"throughputs": "", "measured_on": "v100"}, "job 'line-2': rates are missing; write v100=12.5"),
        ({"table": "model,gpus,v100,k80\nresnet,8,40,10\n"}, "job 'line-3': model 'lm': is missing in"),
        ({"table": TABLE.replace("lm,2", "lm,4")}, "model 'lm' on 2 GPUs: .* has it on 4; add a row"),
        ({"table": TABLE.replace("9,3", "1e-9,3")}, "job 'line-3': runs more than 1000000 times slower on v100"),
        (
            {"table": TABLE.replace("9,3", "9,1e-9")},
            "'line-3': runs more than 1000000 times faster on v100 than on k80",
        ),
        ({"table": TABLE.replace("v100,k80", "k80,K80")}, "line 1: the header has a GPU type twice, in other capitals"),
        ({"cluster": "2x(8gpu:v100)+1x(8gpu:)"}, "cluster '2x.8gpu:v100.+1x.8gpu:.': '8gpu:' .* or 2x.8gpu:v100.$"),
        ({"cluster": "2x(8gpu:v100"}, "'2x.8gpu:v100' is not COUNTx.SHAPE."),
        (
            {"log": LOG.replace("v100=2|k80=8", "v100=2|v100=8")},
            "job 'line-5': rates 'v100=2.v100=8': expected such as",
        ),
        ({"log": LOG.replace("v100=2|k80=8", "v100=fast")}, "expected such as v100=12.5"),
        (
            {"log": LOG.replace(",v100,\n60", ",,\n60")},
            "job 'line-2': names no GPU type; for the type of the durations",
        ),
        ({"log": LOG.replace("0,3600,8,resnet", "0,3600,8,")}, "job 'line-2': the model to look up in"),
        ({"cluster": "1x(8gpu:k80)"}, "job 'line-4' cannot run"),
    ],
)
def test_what_is_wrong_is_one_line(files, change, line):
    with pytest.raises(InvalidInput, match=line) as error:
        made(files, **change)
    assert "\n" not in str(error.value)


def test_without_rates_a_type_to_measure_on_is_refused(files):
    with pytest.raises(InvalidInput, match="measured_on=v100: rates are missing"):
        made(files, LOG.replace("v100=2|k80=8", ""), throughputs="", measured_on="v100")


def test_worlds_without_types_refuse_them(files):
    with pytest.raises(InvalidInput, match="preemption does not distinguish GPU types; leave them out"):
        mlsched.workload(str(files()[0]), "preemption", cluster=CLUSTER)


def test_a_log_on_types_is_not_played_back(files):
    log = "submit,start,duration,gpus,model\n0,0,3600,8,resnet\n"
    jobs = made(files, log, measured_on="v100")
    with pytest.raises(InvalidInput, match="as-logged: the log ran at its own rates"):
        mlsched.simulate(jobs, "as-logged")


def test_references_of_a_log_on_types_are_refused_before_anything_is_written(files, tmp_path):
    jobs = made(files)
    for pausing in (True, False):
        with pytest.raises(InvalidInput, match="reference: nodes are of several types"):
            mlsched.make_reference(jobs, tmp_path / "reference", pausing=pausing)
    assert not (tmp_path / "reference").exists()


@pytest.mark.parametrize(
    ("policies", "status"), [(["fifo", "fastest-first:preempt=true"], 0), (["fifo", "mlf-h"], 1), (["as-logged"], 2)]
)
def test_the_command_line_runs_them_or_refuses(files, capsys, policies, status):
    log, table = files()
    options = [f"throughputs={table}", "gpu_types=ignore", "tick=1"]
    given = [word for option in options for word in ("--set", option)]
    assert (
        run(["simulate", *policies, "--trace", str(log), "--cluster", CLUSTER, *given, "--parts", "--json"]) == status
    )
    out, error = capsys.readouterr()
    assert "Traceback" not in error
    if not status:
        assert all(found["gaps"]["total_jct"] >= 0 for found in json.loads(out)["runs"])


def test_every_rule_runs_shares_of_gpus_on_types_that_fail(files, tmp_path):
    """Twelve jobs of a quarter of a GPU to six GPUs; a node of each type fails for a while."""
    rng = np.random.default_rng(7)
    sizes, slow = rng.choice(["0.25", "0.5", "1", "2", "4", "6"], 12), rng.choice([0, 1, 2, 8], 12)
    rows = [f"{60 * k},{600 + 90 * k % 700},{sizes[k]},v100={4 + k % 5}|k80={slow[k]}" for k in range(12)]
    failed = tmp_path / "failed.csv"
    failed.write_text("node,from,to\nnode-0,300,900\nnode-2,600,1500\n")
    options = {"measured_on": "v100", "throughputs": "", "failures": str(failed), "tick": 60}
    log = "\n".join(["submit,duration,gpus,rates", *rows]) + "\n"
    jobs = made(files, log, cluster="2x(4gpu:v100)+2x(4gpu:k80)", **options)
    assert jobs.gpu_unit == 1000
    seen = ("fastest-first", "fastest-first:preempt=true", "earliest-finish", "fastest-first:nodes=few")
    further = ("gavel:policy=isolated", "gavel:policy=fluid_mpc,reset=0", "round-by-round")
    seen += (*installed.rules("taskgraph", *further),)
    bounds: dict = {}
    for rule in (*seen, "best-effort-fifo", "srpt:preempt=true", "easy-backfill", "tiresias", "gandiva", "graphene"):
        played = mlsched.simulate(jobs, rule)
        assert played.violations() == []
        if played.options not in bounds:
            bounds[played.options] = played.bound["total_jct"]
        assert bounds[played.options] <= played.summary()["total_jct"]
    assert len(bounds) > 1, "with pauses and without"
