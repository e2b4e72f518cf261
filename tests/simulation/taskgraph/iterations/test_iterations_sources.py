"""Workloads of the iteration engine: what is refused, what a trace and the drawn gangs become, files and names."""

from __future__ import annotations

import json

import numpy as np
import pytest
from jobs_examples import jobs_of

from mlsched import api
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.instances.traces import read_trace
from mlsched.simulation import every_simulation, simulation
from mlsched.simulation.taskgraph.iterations import IterationWorld, Jobs, Options
from mlsched.simulation.taskgraph.iterations.fits import never_start, overload, room
from mlsched.simulation.taskgraph.iterations.from_log import from_trace
from mlsched.simulation.taskgraph.iterations.pace import Pace, Paces
from mlsched.simulation.taskgraph.iterations.shape import fewest
from mlsched.simulation.taskgraph.iterations.sources import gangs
from mlsched.simulation.taskgraph.iterations.table import Seen, Table
from mlsched.simulation.taskgraph.iterations.workload import WHOLE

JOBS = jobs_of([[(4, 1), (4, 1)], [(3, 2)]], [(0, 0, 3), (6, 1, 1)], edges=[(0, 1, 0, 5, 2)])

BAD = {
    "a template without a task": ({"task_template": [1, 1, 1]}, "task_template: template 0 has 0 tasks"),
    "an edge between templates": ({"edge_to": [2]}, "expected a task of the same template as edge_from"),
    "arrivals out of order": ({"arrival": [7, 6]}, r"arrival\[1\]: 6, expected at least"),
    "no such template": ({"template": [0, 2]}, r"template\[1\]: 2, expected below 2 \(templates\)"),
    "no such class": ({"task_class": [0, 0, 1]}, r"task_class\[2\]: 1, expected below 1 \(classes\)"),
    "an estimate of nothing": ({"estimate": [4, 4, 0]}, r"estimate\[2\]: 0, expected 0 where the duration is"),
    "no column of accuracy": ({"accuracy": [[]]}, "accuracy: 0 columns"),
    "a job without end": ({"scale": [10**6, 10**15]}, r"scale\[1\]: 1000000000000000, the job could end after tick"),
}


@pytest.mark.parametrize("bad", list(BAD))
def test_what_is_refused(bad):
    changes, message = BAD[bad]
    with pytest.raises(InvalidInput, match=message):
        JOBS.replace(**changes)


def test_files(tmp_path):
    api.save(JOBS, tmp_path / "jobs.json")
    assert api.load(tmp_path / "jobs.json") == JOBS
    assert api.workload(tmp_path / "jobs.json") == JOBS
    assert api.problem_of(tmp_path / "jobs.json") == "taskgraph"
    assert api.simulation_of(tmp_path / "jobs.json", None).simulator == "iterations"
    written = json.loads(json.dumps(api.simulate(JOBS, "fifo").to_json()))
    assert written["log"]["places"] == [[1], [0, 0]], "in order of the ends"
    assert JOBS.cluster == "2x(2 gpu)"
    with pytest.raises(InvalidInput, match="simulator and further options do not apply"):
        api.workload(tmp_path / "jobs.json", simulator="iterations")


def test_what_can_never_start_is_told_with_numbers():
    assert never_start(JOBS) == []
    assert never_start(JOBS.replace(node_capacity=[[2], [1]])) == []
    found = never_start(JOBS.replace(node_capacity=[[1], [0]]))
    assert found == [
        "1 of 2 jobs ask for 2 tasks of 1 gpu at once and never fit the nodes that may run them; the first is job 0",
        "1 of 2 jobs ask for 1 task of 2 gpu at once and never fit the nodes that may run them; the first is job 1",
    ]
    with pytest.raises(InvalidInput, match="the run could never end: 1 of 2 jobs ask for 2 tasks of 1 gpu"):
        api.simulate(JOBS.replace(node_capacity=[[1], [0]]), "fifo")
    none = np.zeros((2, 0), dtype=np.int64)
    assert room(np.array([[5, 1], [3, 9]]), none, JOBS, np.array([2, 1]), 9) == 2
    assert room(np.array([[5, 1]]), none, JOBS, np.array([0, 0]), 9) == 9
    halves = JOBS.replace(gpu_unit=2, demand=[[1], [1], [2]])
    assert room(np.array([[4]]), np.array([[1, 1, 2]]), halves, np.array([2]), 9) == 1


def test_a_load_above_the_cluster_is_told():
    assert overload(JOBS) == []
    many = jobs_of([[(9, 2)]], [(j, 0, 1) for j in range(40)])
    assert overload(many) == [
        "the offered load on gpu is 4.04 times the cluster's capacity: at the last arrival some 118 ticks of work wait"
    ]
    assert "the offered load on gpu is" in overload(many.replace(resources=("gpu_milli",)))[0], "as people call it"


TRACE = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:00,90.0,1,90,a
2017-10-09 07:01:00,600.0,4,2400,a
2017-10-09 07:01:30,61.0,4,244,b
2017-10-09 07:02:00,7.0,16,112,b
"""


def trace(tmp_path):
    (tmp_path / "trace.csv").write_text(TRACE)
    return read_trace(tmp_path / "trace.csv")


def test_a_trace_becomes_gangs_that_share_templates_and_keep_their_length(tmp_path):
    jobs = from_trace(trace(tmp_path), np.array([[0, 0, 8000]] * 2), tick=1, iteration=60)
    assert (jobs.arrival.tolist(), jobs.max_iterations.tolist()) == ([0, 60, 90, 120], [2, 10, 1, 1])
    assert (jobs.gang.tolist(), jobs.demand[:, 0].tolist()) == ([1, 1, 1], [1000, 4000, 8000, 8000])
    assert (jobs.resources, jobs.movement, jobs.pause_cost.tolist()) == (("gpu_milli",), "anytime", [30 * WHOLE] * 4)
    assert "shape=log; a pause costs 30 s; movement=anytime; ticks of 1 s" in jobs.source
    run = api.simulate(jobs, "fifo")
    assert run.violations() == []
    assert run.jobs["completion"].tolist() == [90, 660, 151, 667], "the gang of 16 waits for all GPUs"


def test_a_task_is_what_a_job_holds_on_one_node(tmp_path):
    nodes = np.array([[0, 0, 8000]] * 3)
    anywhere = from_trace(trace(tmp_path), nodes, shape="anywhere", pause_cost=0, movement="none")
    assert (anywhere.demand == 1000).all()
    assert (np.bincount(anywhere.task_template).tolist(), anywhere.pause_cost.any()) == ([1, 4, 16], False)
    assert fewest(12, np.array([8, 8])) == [8, 4]
    assert fewest(12, np.array([16, 8])) == [12]
    assert fewest(32, np.array([16, 8, 8, 8])) == [8, 8, 8, 8], "there is one node of 16"
    assert fewest(20, np.array([16, 4])) == [16, 4]
    assert fewest(40, np.array([8, 8])) == [8] * 5, "never fits"


def test_the_nodes_that_a_log_names_are_taken_at_their_word(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("submit,duration,gpus,cpus,num_nodes,pause_cost\n0,60,4,10,2,\n0,60,5,0,2,90\n0.5,60,4,0,,\n")
    read = read_trace(log)
    assert (read.node_count.tolist(), read.pause_cost_ms.tolist()) == ([2, 2, -1], [-1, 90_000, -1])
    assert "Submit times are cut to whole seconds: by up to 500 ms." in read.notes
    nodes = np.array([[16000, 0, 8000]] * 2)
    made = from_trace(read, nodes)
    tasks = [made.demand[slice(*made.span(job))].tolist() for job in range(3)]
    assert tasks == [[[5000, 2000]] * 2, [[0, 3000], [0, 2000]], [[0, 4000]]]
    assert made.pause_cost.tolist() == [WHOLE // 2, 3 * WHOLE // 2, WHOLE // 2]
    fewer = from_trace(read, nodes, shape="fewest")
    assert [fewer.demand[slice(*fewer.span(job)), 1].tolist() for job in range(3)] == [[4000], [5000], [4000]]


PODS = """name,pod_group,submit,duration,gpus,cpus,memory_gib
a-chief,a,10,90,0,2,4
b,,11,60,8,16,0
a-worker-0,a,12,100,4,8,64
a-worker-1,a,12,100,2,8,64
"""


def test_a_pod_is_a_task_of_its_job(tmp_path):
    log = tmp_path / "pods.csv"
    log.write_text(PODS)
    read = read_trace(log)
    nodes = np.array([[32000, 2**20, 8000]] * 2)
    made = from_trace(read, nodes)
    assert made.resources == ("cpu_milli", "memory_mib", "gpu_milli")
    tasks = [made.demand[slice(*made.span(job))].tolist() for job in range(2)]
    of_a = [[8000, 65536, 4000], [8000, 65536, 2000], [2000, 4096, 0]]
    assert tasks == [of_a, [[16000, 0, 8000]]]
    fewer = from_trace(read, nodes, shape="fewest")
    assert fewer.demand[slice(*fewer.span(0))].tolist() == [[18000, 135168, 6000]]
    gpus_alone = from_trace(read, np.array([[0, 0, 8000]] * 2))
    assert gpus_alone.demand[slice(*gpus_alone.span(0)), 0].tolist() == [4000, 2000], "the chief asks for no GPU"
    run = api.simulate(made, "fifo")
    assert run.violations() == []
    assert run.table()["gpus"].tolist() == [6, 8]


def test_parts_of_gpus_are_those_of_pods(tmp_path):
    log = tmp_path / "pods.csv"
    log.write_text("pod_group,submit,duration,gpus\na,0,60,0.5\na,0,60,0.5\n")
    made = from_trace(read_trace(log), np.array([[0, 0, 2000]]))
    assert (made.gpu_unit, made.demand.tolist()) == (1000, [[500], [500]])
    assert from_trace(read_trace(log), None).node_capacity.tolist() == [[8000]]


def test_submits_that_are_rounded_down_are_said_to_be(tmp_path):
    nodes = np.array([[0, 0, 8000]] * 2)
    assert "submits rounded down by up to 30 s" in from_trace(trace(tmp_path), nodes).source
    assert "submits rounded" not in from_trace(trace(tmp_path), nodes, tick=30).source


def test_where_jobs_share_gpus_the_gpus_of_a_node_are_told_apart(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("submit,duration,gpus\n0,60,0.6\n0,60,0.6\n0,60,0.8\n")
    read = read_trace(log, read="submit=submit,duration=duration,gpus=gpus")
    shared = from_trace(read, np.array([[0, 0, 2000]]), tick=1)
    assert shared.gpu_unit == 1000
    completion = api.simulate(shared, "fifo").jobs["completion"]
    assert completion.tolist() == [60, 60, 120], "60 + 60 + 80 hundredths are no two GPUs"
    assert from_trace(trace(tmp_path), None).gpu_unit == 0, "whole GPUs are one pool"


def test_jobs_that_never_fit_are_refused_or_left_out(tmp_path):
    nodes = np.array([[0, 0, 8000]])
    assert len(never_start(from_trace(trace(tmp_path), nodes))) == 1
    kept = from_trace(trace(tmp_path), nodes, oversize="drop")
    assert (len(kept.arrival), never_start(kept)) == (3, [])
    assert "1 jobs that never fit left out" in kept.source


def test_a_cluster_is_made_for_the_load(tmp_path):
    jobs = from_trace(trace(tmp_path), None, tick=1, load=0.25)
    assert (jobs.node_capacity == [[8000]] * 2).all()
    assert "no cluster given: nodes made for a load of 0.25" in jobs.source


def test_drawn_gangs():
    jobs = gangs(jobs=400, seed=3, nodes=4, load=0.5)
    assert gangs(jobs=400, seed=3, nodes=4, load=0.5) == jobs
    assert set(np.bincount(jobs.task_template).tolist()) == {1, 2, 4, 8}
    work = (np.bincount(jobs.task_template)[jobs.template] * jobs.max_iterations).sum()
    assert 0.4 < work / (32 * np.ptp(jobs.arrival)) < 0.6
    told = gangs(jobs=400, seed=3, nodes=4, error=0.3)
    assert (told.told != told.scale).any()


def test_a_hundred_thousand_jobs_take_a_few_megabytes():
    jobs = gangs(jobs=100_000, nodes=300)
    size = sum(v.nbytes for v in vars(jobs).values() if isinstance(v, np.ndarray))
    assert size < 16 * 2**20


def test_workloads_of_the_task_engine_run_by_iterations():
    tasks = api.workload("synthetic:mlfs", jobs=6)
    jobs = api.workload("synthetic:mlfs", jobs=6, simulator="iterations")
    assert isinstance(jobs, Jobs)
    assert jobs.gang.all()
    assert (jobs.arrival == np.sort(tasks.horizon.arrival)).all()
    assert (jobs.duration == tasks.true_duration).all()
    dags = api.workload("synthetic:dags", jobs=3, simulator="iterations")
    assert "synthetic:dags" in dags.source


def test_worlds_are_found_by_problem_and_simulator():
    assert [s.simulator for s in every_simulation() if s.problem == "taskgraph"] == ["tasks", "iterations"]
    assert simulation("taskgraph").simulator == "tasks"
    assert simulation("taskgraph", "iterations").workload_type is Jobs
    assert isinstance(api.workload("synthetic:gangs", jobs=5), Jobs)
    with pytest.raises(UnknownName, match="unknown simulator 'fluid' of taskgraph; there are tasks, iterations"):
        simulation("taskgraph", "fluid")
    with pytest.raises(UnknownName, match="unknown simulator 'tasks' of preemption; there is only one: leave it out"):
        simulation("preemption", "tasks")
    with pytest.raises(UnknownName, match="unknown synthetic workload 'gangs' for taskgraph"):
        api.workload("synthetic:gangs", "taskgraph", simulator="tasks")


def test_paces_of_graphs():
    paces = Paces(JOBS)
    assert paces.of(1, [0]) == Pace(3_000_000, 3_000_000)
    assert paces.of(0, [0, 0]) == Pace(8_000_000, 8_000_000)
    assert paces.of(0, [0, 1]) == Pace(10_000_000, 10_000_000)
    half = Paces(JOBS.replace(scale=[500_000, 10**6]))
    assert half.of(0, [0, 1]) == Pace(6_000_000, 6_000_000), "transfers take as long as they do"


def test_columns_that_were_handed_out_stay_as_they_were():
    table = Table(("name",), ("state",))
    assert table.add(300, {"name": np.arange(300), "state": 1}) == 0
    table.admit(200)
    seen = Seen(table)
    names = seen["name"]
    seen.keep()
    moved = []
    for name in range(150):
        place = int(table.find("name", np.array([name]))[0])
        moved.append(table.remove(place, place + 1))
    assert moved.count(True) == 1
    assert (seen["name"].tolist(), names.tolist()) == ([*range(200)],) * 2
    table.admit(50)
    table["state"][:] = 2
    assert (seen["state"].tolist(), Seen(table)["state"].tolist()) == ([1] * 200, [2] * 100)
    assert Seen(table)["name"].tolist() == [*range(150, 250)]
    assert (table.count, table.waits) == (100, 50)


def test_what_is_gone_or_to_come_is_in_no_column():
    jobs = gangs(jobs=50, nodes=2)
    world = IterationWorld(jobs, Options())
    world.advance(int(jobs.arrival[9]))
    assert len(world.jobs) == len(world.view.jobs_there()) == int((jobs.arrival <= jobs.arrival[9]).sum())
    assert world.ask().job_id.tolist() == list(range(len(world.jobs)))


def test_columns_that_came_later_change_no_hash_and_reach_the_snapshot(tmp_path):
    assert "user" not in JOBS.to_json()
    told = {"user": [3, 4], "option": [1, 0], "permits": [6, 0], "payment": [5, 0], "time_limit": [30, 0]}
    tasks = {"role": [0, 1, 0], "replica": [1, 1, 0], "usage": [[10**6], [2 * 10**6], [10**6]]}
    jobs = JOBS.replace(**told, **tasks)
    assert jobs.hash != JOBS.hash
    api.save(jobs, tmp_path / "jobs.json")
    assert api.load(tmp_path / "jobs.json") == jobs
    world = IterationWorld(jobs, Options())
    world.advance(6)
    seen = world.ask()
    assert {name: getattr(seen, name).tolist() for name in told} == told
    assert (seen.role.tolist(), seen.replica.tolist()) == (tasks["role"], tasks["replica"])
    assert seen.waiting_since.tolist() == [0, 0, 6]


def test_tables_that_are_not_there_are_refused():
    with pytest.raises(InvalidInput, match=r"accuracy_told\[1\]: 1, expected below 1 \(tables\)"):
        JOBS.replace(accuracy_told=[0, 1])
    with pytest.raises(InvalidInput, match=r"loss_table\[0\]: 0, expected below 0 \(loss tables\)"):
        JOBS.replace(loss_table=[0, -1])
    with pytest.raises(InvalidInput, match="loss: 0 columns"):
        JOBS.replace(loss=[[]])


def test_tasks_of_several_sizes_that_never_fit_together_are_named_in_gpus():
    jobs = api.workload({"submit": [0], "duration": [60], "gpus": [17]}, cluster="2x(8gpu)")
    with pytest.raises(InvalidInput, match="ask for tasks all at once, 1 of 1 gpu and 2 of 8 gpu, and never fit"):
        api.simulate(jobs, "fifo")
