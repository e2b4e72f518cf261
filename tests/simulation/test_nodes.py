"""Clusters in text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched.core.errors import InvalidInput
from mlsched.simulation.nodes import parse_cluster

GOOD = {
    "84x(32cpu,256gb,8gpu)": [[32_000, 262_144, 8_000]] * 84,
    "1x(8gpu)": [[0, 0, 8_000]],
    "2x(8gpu,1cpu)": [[1_000, 0, 8_000]] * 2,
    "1x(0.5gpu,1.5gb)": [[0, 1_536, 500]],
    "2x(4cpu)+1x(1gb)": [[4_000, 0, 0]] * 2 + [[0, 1_024, 0]],
    " 2 x ( 4cpu , 1gb ) ": [[4_000, 1_024, 0]] * 2,
    "1x(0cpu,2gpu)": [[0, 0, 2_000]],
}


@pytest.mark.parametrize("text", list(GOOD))
def test_text_that_is_understood(text):
    found = parse_cluster(text)
    assert found.tolist() == GOOD[text]
    assert found.dtype == "int64"


BAD = {
    "": "'' is not COUNTx(SHAPE)",
    "84": "'84' is not COUNTx(SHAPE)",
    "84x": "'84x' is not COUNTx(SHAPE)",
    "0x(1cpu)": "'0x(1cpu)' is not COUNTx(SHAPE)",
    "-1x(1cpu)": "'-1x(1cpu)' is not COUNTx(SHAPE)",
    "1.5x(1cpu)": "'1.5x(1cpu)' is not COUNTx(SHAPE)",
    "100001x(1cpu)": "'100001x(1cpu)' is not COUNTx(SHAPE)",
    "9" * 5000 + "x(1cpu)": "is not COUNTx(SHAPE)",
    "1x(1cpu": "'1x(1cpu' is not COUNTx(SHAPE)",
    "1x((1cpu))": "is not COUNTx(SHAPE)",
    "1x(1cpu)+": "'' is not COUNTx(SHAPE)",
    "1x(1cpu)2x(1cpu)": "is not COUNTx(SHAPE)",
    "1x()": "'' is not an amount of cpu, gb or gpu",
    "1x(1cpu,)": "'' is not an amount",
    "1x(1tpu)": "'1tpu' is not an amount",
    "1x(cpu)": "'cpu' is not an amount",
    "1x(-1cpu)": "'-1cpu' is not an amount",
    "1x(1e3cpu)": "'1e3cpu' is not an amount",
    "1x(nancpu)": "'nancpu' is not an amount",
    "1x(1CPU)": "'1CPU' is not an amount",
    "1x(1cpu,2cpu)": "'2cpu' is not an amount of cpu, gb or gpu, each at most once",
    "1x(0cpu,2cpu)": "'2cpu' is not an amount of cpu, gb or gpu, each at most once",
    "1x(99999999999999999999cpu)": "'99999999999999999999cpu' is not an amount",
    "1x(" + "9" * 400 + "cpu)": "is not an amount",
}


@pytest.mark.parametrize("text", list(BAD), ids=lambda t: t[:20])
def test_text_that_is_refused_says_what_and_shows_how(text):
    with pytest.raises(InvalidInput) as caught:
        parse_cluster(text)
    assert BAD[text] in str(caught.value)
    assert str(caught.value).endswith("write for example 84x(32cpu,256gb,8gpu)")


def test_types_of_gpus_are_refused_where_all_are_alike():
    with pytest.raises(
        InvalidInput, match=r"cluster '1x\(8gpu:v100\)': all GPUs are alike here; leave out their types"
    ):
        parse_cluster("1x(8gpu:v100)")


@given(st.text("0129x(),.+cpugb ", max_size=24))
def test_no_text_breaks_the_parser(text):
    try:
        found = parse_cluster(text)
    except InvalidInput:
        return
    assert found.shape[0] >= 1
    assert found.shape[1] == 3
    assert (found >= 0).all()
