"""A Dask cluster makes the rows that this process makes."""

from __future__ import annotations

import pytest
from benchmark_examples import suite, timeless
from draws import draws

from mlsched import InvalidInput
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.store import read_rows


@pytest.mark.slow
def test_a_local_cluster_makes_the_rows_of_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr("mlsched.benchmark.dask.IN_FLIGHT", 2)  # fewer than there are tasks
    distributed = pytest.importorskip("distributed")
    asked, store = suite("cp-sat", "rand", seeds=(0, 1)), tmp_path / "s.sqlite"
    settings = {"n_workers": draws(1, 2), "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster:
        rows = run_suite(asked, dask=cluster.scheduler_address, store=store)
    assert timeless(rows) == timeless(run_suite(asked))
    assert len(read_rows(store)) == len(rows) == 12


@pytest.mark.slow
def test_workers_with_several_threads_are_refused():
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**settings, protocol="tcp") as cluster,
        pytest.raises(InvalidInput, match="its workers have 2 threads; start them with --nthreads 1"),
    ):
        run_suite(suite("fifo"), dask=cluster.scheduler_address)


def test_where_no_scheduler_is(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("mlsched.benchmark.dask.PATIENCE", 0.2)
    with pytest.raises(InvalidInput, match=r"--dask tcp://127\.0\.0\.1:1: a Dask scheduler was not found"):
        run_suite(suite("fifo"), dask="tcp://127.0.0.1:1")
    with pytest.raises(InvalidInput, match="--dask nowhere at all: a Dask scheduler was not found"):
        run_suite(suite("fifo"), dask="nowhere at all")
