"""Every reader of files, as a function of the path, and a small file of each format."""

from __future__ import annotations

import gzip
import json

import mlsched
from mlsched.benchmark.store import Store, read_rows
from mlsched.core.files import read_json
from mlsched.instances.placement.gavel import read_gavel
from mlsched.instances.taskgraph.files import read_jobshop, read_psplib, read_stg
from mlsched.instances.taskgraph.profiles import read_profiles
from mlsched.instances.traces import algoperf, pollux, read_nodes, read_trace
from mlsched.learned import weights
from mlsched.solvers.front.journal import Journal

READERS = {
    "json": read_json,
    "load": mlsched.load,
    "workload": lambda path: mlsched.workload(path, "preemption"),
    "trace": read_trace,
    "nodes": read_nodes,
    "algoperf": lambda path: list(algoperf.read_curves(path)),
    "pollux": lambda path: list(pollux.read_curves(path, application="cifar10")),
    "profiles": read_profiles,
    "gavel": read_gavel,
    "stg": lambda path: read_stg(path, processors=2),
    "psplib": read_psplib,
    "jobshop": read_jobshop,
    "weights": weights.read,
    "store": read_rows,
}

STG = " 3\n0 0 0\n1 4 1 0\n2 3 1 0\n3 2 2 1 2\n4 0 1 3\n# a comment\n"
PSPLIB = """jobs (incl. supersource/sink ):  3
  - renewable                 :  1   R
  - nonrenewable              :  0   N
  - doubly constrained        :  0   D
PRECEDENCE RELATIONS:
jobnr.    #modes  #successors   successors
   1        1          1           2
   2        1          1           3
   3        1          0
REQUESTS/DURATIONS:
jobnr. mode duration  R 1
-----------------------
  1      1     0       0
  2      1     4       2
  3      1     0       0
RESOURCEAVAILABILITIES:
  R 1
    3
"""
PIPEDREAM = (
    "node1 -- Input -- forward_compute_time=640.000, backward_compute_time=0.000, activation_size=1000.0, "
    "parameter_size=0.000\n"
    "node2 -- Two -- forward_compute_time=1.000, backward_compute_time=1.000, activation_size=[500.0; 500.0], "
    "parameter_size=8.000\n\tnode1 -- node2\n"
)
DNN = {
    "nodes": [{"id": 0, "fpgaLatency": 2.5, "size": 8.0}, {"id": 1, "fpgaLatency": 1, "size": 4}],
    "edges": [{"sourceId": 0, "destId": 1, "cost": 9, "size": 2e6}],
}
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n" + "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n" * 2
PHILLY_JSON = [
    {
        "status": "Pass",
        "vc": "v",
        "jobid": "j",
        "submitted_time": "2017-10-07 01:00:00",
        "attempts": [
            {
                "start_time": "2017-10-07 02:00:00",
                "end_time": "2017-10-07 02:01:00",
                "detail": [{"ip": "m", "gpus": ["g"]}],
            }
        ],
    }
]
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "a,1000,1024,1,460,,LS,Running,100,200,150\n"
)
GAVEL = {
    "v100": {
        "('A', 1)": {"null": 2.0, "('A', 1)": [1.0, 1.0], "('B', 1)": [1.5, 0.0]},
        "('B', 1)": {"null": 3.0, "('A', 1)": [0.0, 1.5]},
    }
}


def seeds(folder) -> list[tuple[str, bytes]]:
    """(reader, content) of small files that the readers take; what only a program can write is written to `folder`."""
    record, load = folder / "seed.json", folder / "seed.load"
    mlsched.save(mlsched.generate("preemption", "small", seed=1), record)
    mlsched.save(mlsched.workload("synthetic:z:jobs=3,nodes=2"), load)
    Store(folder / "seed.sqlite").close()
    plan = mlsched.solve(mlsched.load(record), "fifo")
    mlsched.save(plan, folder / "seed.plan")
    texts = [
        ("load", record.read_text()),
        ("load", (folder / "seed.plan").read_text()),
        ("workload", load.read_text()),
        ("trace", PHILLY),
        ("trace", json.dumps(PHILLY_JSON)),
        ("trace", PODS),
        ("trace", "job_id,arrival_s,service_sec,gpu_count\na,0,1,1\nb,2,3,4\n"),
        ("nodes", "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,x\n"),
        ("algoperf", "global_step,accumulated_submission_time,train/loss\n1,2,3\n2,3,2.5\n"),
        ("pollux", "progress,iteration,metric\n10,1,.5\n20,2,.6\n"),
        ("profiles", PIPEDREAM),
        ("profiles", json.dumps(DNN)),
        ("gavel", json.dumps(GAVEL)),
        ("stg", STG),
        ("psplib", PSPLIB),
        ("jobshop", "2 2\n0 3 1 2\n1 4 0 1\n"),
    ]
    found = [(name, text.encode()) for name, text in texts]
    found += [("trace", gzip.compress(PHILLY.encode())), ("gavel", gzip.compress(json.dumps(GAVEL).encode()))]
    return [*found, ("store", (folder / "seed.sqlite").read_bytes())]


__all__ = ["READERS", "Journal", "seeds"]
