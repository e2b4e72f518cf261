"""The public files themselves: row counts and distributions that their publishers and our notes state."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from mlsched.instances.traces import read_nodes, read_trace


def test_alibaba_pods(shared_data: Path) -> None:
    trace = read_trace(shared_data / "alibaba_gpu_v2023" / "openb_pod_list_default.csv.gz")
    assert len(trace) + trace.dropped["never scheduled"] == 8152
    assert trace.dropped == {"never scheduled": 897}
    assert trace.gpu_count.max() == 8
    assert set(trace.qos) == {"LS", "BE", "Burstable", "Guaranteed"}
    assert (trace.cpu_milli > 0).all()
    assert (trace.memory_mib >= 0).all(), "one pod asks for no memory"
    assert ((trace.gpus_milli % 1000 != 0) == (trace.gpus_milli < 1000 * trace.gpu_count)).all()


def test_alibaba_variant(shared_data: Path) -> None:
    trace = read_trace(shared_data / "alibaba_gpu_v2023" / "openb_pod_list_gpushare100.csv.gz")
    assert (len(trace), trace.dropped) == (6943, {"never scheduled": 1209})
    assert trace.gpu_count.max() == 1


@pytest.mark.parametrize(("name", "count"), [("all", 1523), ("gpu", 1213)])
def test_alibaba_nodes(shared_data: Path, name: str, count: int) -> None:
    nodes = read_nodes(shared_data / "alibaba_gpu_v2023" / f"openb_node_list_{name}_node.csv")
    assert (len(nodes), int(nodes.gpus.sum()), nodes.model.count("G2")) == (count, 6212, 549)


def test_philly(shared_data: Path) -> None:
    trace = read_trace(shared_data / "philly" / "philly.csv.gz")
    assert (len(trace), trace.dropped) == (82_247, {})
    assert np.median(trace.duration_ms) == 1_144_000
    assert trace.gpu_count.max() == 128
    assert round(float((trace.gpu_count > 1).mean()), 3) == 0.068
    assert len(set(trace.group)) == 15
    gpu_hours = float((trace.duration_ms * trace.gpus_milli).sum()) / 1000 / 1000 / 3600
    assert round(gpu_hours / 1e6, 2) == 0.98


HELIOS = "helios/helios_venus_gpu_jobs.csv.gz"


@functools.cache
def helios(data: Path):
    return read_trace(data / HELIOS)


def test_helios(shared_data: Path) -> None:
    trace = helios(shared_data)
    assert (len(trace), trace.dropped) == (125_303, {})
    assert np.median(trace.duration_ms) == 204_000
    assert trace.duration_ms.max() == 172_800_000
    assert trace.gpu_count.max() == 200
    assert round(float((trace.gpu_count > 1).mean()), 3) == 0.482


def test_helios_limit(shared_data: Path) -> None:
    assert read_trace(shared_data / HELIOS, limit=100).ids == helios(shared_data).ids[:100]
