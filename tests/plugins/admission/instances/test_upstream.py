"""The schedulers' own test tables: the programs here decide as their tables expect, and nobody is accused wrongly."""

from __future__ import annotations

import pytest
import upstream_tables as upstream
from draws import THOROUGH

#: Cases that are decided otherwise than expected, at most.
MOST_DIFFERENT = {"kueue": 0, "kai": 1, "kube": 0}


@pytest.fixture(scope="module")
def tables(shared_data):
    folder = shared_data / "upstream"
    if not folder.is_dir():
        pytest.skip(f"no upstream tables at {folder}: set MLSCHED_DATA to the folder that holds data/")
    return folder


@pytest.mark.parametrize("system", upstream.SYSTEMS)
def test_tables_are_decided_as_expected(tables, system):
    different = [case["id"] for case, _, _ in upstream.differences(tables, system)]
    assert len(different) <= MOST_DIFFERENT[system], different


@pytest.mark.parametrize("system", upstream.SYSTEMS)
def test_no_expected_decision_is_accused(tables, system):
    """All of Kubernetes by default, and of Kueue and KAI in the thorough profile."""
    if not THOROUGH and system != "kube":
        pytest.skip("in the thorough profile")
    kinds, accused = upstream.verdicts(tables, system)
    assert not any(kinds[kind] for kind in upstream.ACCUSATIONS), accused
    assert not kinds["refused"], accused
