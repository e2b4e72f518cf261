"""Files of other programs are refused in one line that names their kind and the alternative."""

from __future__ import annotations

from pathlib import Path

import pytest

import mlsched
from mlsched.core.errors import InvalidFile

LOGS = Path(__file__).parents[1] / "instances" / "traces" / "logs"
SQUEUE = '{"jobs": [{"account": "a", "job_id": 3, "submit_time": {"set": true, "number": 17000}}], "meta": {}}'
FOREIGN = {
    "sacct": ("log.json", (LOGS / "sacct.json").read_text(), "the output of `sacct --json`, which is not read; run"),
    "newer sacct": (
        "log",
        '{"jobs": [{"job_id": 3, "time": {"elapsed": 9, "submission": 17000}}], "meta": {}}',
        "the output of `sacct --json`",
    ),
    "squeue": ("log.json", SQUEUE, "the output of `squeue --json`, which is not read; run `sacct --parsable2`"),
    "batsim": (
        "w.json",
        '{"nb_res": 4, "jobs": [{"id": 0, "subtime": 0, "res": 4, "profile": "a"}], "profiles": {}}',
        "a workload of Batsim, which is not read; give its SWF log, or a CSV",
    ),
    "modes": ("c154_3.mm", "jobs (incl. supersource/sink ):  18\n", "a multi-mode project of PSPLIB, which is not"),
    "patterson": ("a.rcp", "32 4\n12 13 4 12\n", "a project in Patterson's format, which is not read; convert it"),
    "flexible": ("mk01.FJS", "10 6 2\n6 2 1 5 3 4\n", "a flexible job shop, which is not read; give a job shop (.txt)"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_known_file_of_another_program_is_named(tmp_path: Path, kind: str) -> None:
    name, text, words = FOREIGN[kind]
    path = tmp_path / name
    path.write_text(text)
    for read in (mlsched.workload, mlsched.read_log, mlsched.load):
        with pytest.raises(InvalidFile) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: this is {words}")


def test_files_of_mlsched_pass(tmp_path: Path) -> None:
    instance = mlsched.generate("quality", "small")
    mlsched.save(instance, tmp_path / "instance.json")
    assert mlsched.load(tmp_path / "instance.json") == instance
