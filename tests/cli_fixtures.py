"""The command line in this process, and small files for it."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

import pytest
from preemption_examples import small

from mlsched import api
from mlsched.cli.main import run
from mlsched.instances.preemption import Plan


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self):
        """The one JSON document on standard output, with nothing else anywhere."""
        assert self.err == ""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    def refused(self, *fragments: str, status: int = 2) -> None:
        """One line on standard error, nothing on standard output, no traceback."""
        assert self.status == status
        assert self.out == ""
        assert self.err.startswith("mlsched: ")
        assert self.err.count("\n") == 1, self.err
        for fragment in fragments:
            assert fragment in self.err


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """What `mlsched list` keeps goes to a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="module")
def bounds_to_show(quick_bounds):
    """Here the bound of a run is a number to show."""


@pytest.fixture
def cli(capsys):
    def call(*arguments) -> Done:
        status = run([str(a) for a in arguments])
        return Done(status, *capsys.readouterr())

    return call


@pytest.fixture
def instance_file(tmp_path):
    path = tmp_path / "instance.json"
    api.save(small(), path)
    return path


@pytest.fixture
def plan_file(tmp_path):
    path = tmp_path / "plan.json"
    api.save(Plan(te_node=[1], victims=[2]), path, instance=small())
    return path


@pytest.fixture
def edited(tmp_path, instance_file):
    """`edited(**changes)`: the instance's file with some fields changed; None removes one."""

    def make(**changes):
        data = {**json.loads(instance_file.read_text()), **changes}
        path = tmp_path / "edited.json"
        path.write_text(json.dumps({k: v for k, v in data.items() if v is not None}))
        return path

    return make


@pytest.fixture
def pods(tmp_path):
    """A pod list: 12 jobs a minute apart on one GPU each, every third TE."""
    names = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    )
    path = tmp_path / "pods.csv"
    rows = [
        f"p{i},2000,1024,1,1000,,{'LS' if i % 3 == 2 else 'BE'},Succeeded,{60 * i},{60 * i + 400},{60 * i}"
        for i in range(12)
    ]
    path.write_text("\n".join([names, *rows]) + "\n")
    return path


def refuses_what_is_no_file(cli, command, folder) -> None:
    """Assert that a command refuses a pipe, a loop of links and a folder as its last argument, and writes nothing."""
    pipe, loop = folder / "pipe.png", folder / "loop.png"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    (folder / "folder.png").mkdir()
    cli(*command, pipe).refused("pipe.png: is a pipe; give a regular file")
    cli(*command, loop).refused("loop.png: cannot be written: Too many levels of symbolic links")
    cli(*command, folder / "folder.png").refused("folder.png: is a directory; give a regular file")
    assert pipe.is_fifo()
    assert loop.is_symlink()
    assert len(list(folder.iterdir())) == 3
