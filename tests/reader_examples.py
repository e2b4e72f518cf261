"""Every reader of files, as a function of the path, and a small file of each format."""

from __future__ import annotations

import functools
import gzip
import importlib.util
import json
import re
import shutil
import zlib

import numpy as np

import mlsched
from mlsched import api
from mlsched.benchmark.store import Store, read_rows
from mlsched.certificates import checker
from mlsched.core.errors import InvalidInput
from mlsched.core.files import read_json
from mlsched.instances.placement.gavel import read_gavel
from mlsched.instances.taskgraph.files import read_jobshop, read_psplib, read_stg
from mlsched.instances.taskgraph.profiles import read_profiles
from mlsched.instances.traces import algoperf, pollux, read_nodes, read_trace
from mlsched.learned import weights
from mlsched.simulation.nodes import parse_cluster
from mlsched.solvers.front.journal import KIND, VERSION, Journal, _line

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


def _check_proof(path) -> None:
    """A formula and its proof, apart by an empty line."""
    formula, _, log = path.read_text("utf-8", "replace").partition("\n\n")
    try:
        checker.check(formula, log)
    except checker.Wrong as wrong:
        raise InvalidInput(str(wrong)) from None


def _read_answers(path) -> None:
    """The lines of a journal without their checksums, which are put right, as by a program with a mistake."""
    chain, whole = 0, b""
    for line in path.read_bytes().split(b"\n")[:-1]:
        chain = zlib.crc32(line, chain)
        whole += line[:-1] + b', "check": %d}\n' % chain
    path.write_bytes(whole)
    Journal(path, {}).close()


def _check_manifest(path, folder: str = "certificate") -> None:
    """A certificate's manifest, beside its other files."""
    shutil.copyfile(path, path.parent / folder / "manifest.json")
    if wrong := api.check_certificate(path.parent / folder).wrong:
        raise InvalidInput(wrong[0])


#: Readers of what is in a file, by functions that do not open it themselves or want more than one.
PARSERS = {
    "cluster": lambda path: parse_cluster(path.read_text("utf-8", "replace")),
    "journal": lambda path: Journal(path, {}).close(),
    "answers": _read_answers,
    "proof": _check_proof,
    "manifest": _check_manifest,
    "manifest of formulas": functools.partial(_check_manifest, folder="formulas"),
}

PROOF = (
    "min: +1 x1 +2 x2 +5 x3 ;\n+1 x1 +1 x2 +1 x3 >= 2 ;\n\n"
    f"{checker.HEADER}\nl 1\nsoli x1 x2 ~x3\nrup +1 ~x3 >= 1 ; ~ 2\npol 1 3 + 2 *\npol 2 4 + x3 5 * +\nc 5\n"
)
CARD = {
    "kind": weights.KIND, "version": weights.VERSION, "policy": "p", "problem": "workers", "recipe": {}, "seed": 0,
    "iterations": 1, "data": {}, "versions": {}, "scores": {},
}  # fmt: skip
ANSWER = {
    "weights": [1, 1], "boxes": [[None, 5]], "status": "optimal", "values": [3, 4], "bound": 7, "solution": [1, 0],
    "note": "",
}  # fmt: skip

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
    """(reader, content) of small files that the readers take; what only a program can write is written to `folder`.

    Certificates, of which that by formulas needs exact, stay there: a manifest is read beside its other files.
    """
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
    weights.write(folder / "seed.safetensors", weights.Weights({"a": np.ones((2, 3), np.float32)}, CARD))
    header, chain = _line({"kind": KIND, "version": VERSION}, 0)
    journal = header + _line(ANSWER, chain)[0]
    found += [
        ("store", (folder / "seed.sqlite").read_bytes()),
        ("weights", (folder / "seed.safetensors").read_bytes()),
        ("cluster", b"2x(8gpu,32cpu,64gb)+1x(4gpu)"),
        ("journal", journal.encode()),
        ("answers", re.sub(', "check": \\d+', "", journal).encode()),
        ("proof", PROOF.encode()),
    ]
    api.certify(mlsched.generate("workers", "small", seed=1), folder / "certificate")
    found.append(("manifest", (folder / "certificate" / "manifest.json").read_bytes()))
    if importlib.util.find_spec("exact") is not None:
        api.certify(mlsched.generate("workers", "small", seed=1), folder / "formulas", proof="logic")
        found.append(("manifest of formulas", (folder / "formulas" / "manifest.json").read_bytes()))
    return found + (admission_readers.seeds() if ADMISSION else [])


#: Whether the plug-in is there; this file is of the core's tests.
ADMISSION = importlib.util.find_spec("mlsched_admission") is not None
if ADMISSION:
    import admission_readers

    READERS |= admission_readers.READERS

__all__ = ["PARSERS", "READERS", "seeds"]
