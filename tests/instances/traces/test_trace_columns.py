"""`Trace` and `Nodes` as values: read-only columns, equality, pickling and the rules of their columns."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mlsched.core.errors import InvalidInput
from mlsched.instances.traces import Nodes, Trace


def column(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


TRACE = Trace(
    ids=("a", "b"),
    submit=column(0, 5),
    duration_ms=column(1000, 1),
    gpu_count=column(1, 0),
    gpus_milli=column(500, 0),
    cpu_milli=column(-1, 4000),
    memory_mib=column(-1, 0),
    qos=("LS", ""),
    group=("", ""),
    status=("", ""),
    source="by hand",
)
NODES = Nodes(ids=("n",), cpu_milli=column(1), memory_mib=column(1), gpus=column(8), model=("T4",))


def test_columns_are_copies_and_read_only() -> None:
    mine = column(0, 7)
    trace = replace(TRACE, submit=mine)
    mine[1] = 3
    assert trace.submit.tolist() == [0, 7]
    for table in (trace, pickle.loads(pickle.dumps(trace))):
        with pytest.raises(ValueError, match="read-only"):
            table.submit[0] = 1


def test_equal_by_value() -> None:
    assert TRACE == pickle.loads(pickle.dumps(TRACE)) == replace(TRACE)
    assert replace(TRACE, submit=column(0, 6)) != TRACE
    assert replace(TRACE, source="elsewhere") != TRACE
    assert TRACE != NODES
    with pytest.raises(TypeError, match="unhashable"):
        hash(TRACE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": ("a", "a")}, "Trace.ids has repeated ids, expected unique"),
        ({"submit": column(0)}, r"Trace.submit has shape \(1,\), expected one column of 2"),
        ({"submit": np.array([0.0, 1.5])}, "Trace.submit has dtype float64, expected integers"),
        ({"submit": column(1, 2)}, "Trace.submit must start at 0 and never fall"),
        ({"submit": column(0, -1)}, "Trace.submit of 'b' is -1, expected >= 0"),
        ({"duration_ms": column(1, 0)}, "Trace.duration_ms of 'b' is 0, expected >= 1"),
        ({"gpus_milli": column(1001, 0)}, r"Trace.gpus_milli of 'a' must be at most 1000 \* gpu_count"),
        ({"memory_mib": column(-2, 0)}, "Trace.memory_mib of 'a' is -2, expected >= -1"),
        ({"qos": ("LS",)}, "Trace.qos has 1 texts, expected 2"),
    ],
)
def test_rules_of_a_trace(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(TRACE, **change)


def test_rules_of_nodes() -> None:
    with pytest.raises(InvalidInput, match=r"Nodes.gpus of 'n' is -1, expected >= 0"):
        replace(NODES, gpus=column(-1))
