"""The public table of intervals: every entry's bound is recomputed from its log, and its schedule where it is kept."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import reference_entries as references
from documentation import DOCS
from draws import share

import mlsched
from mlsched.certificates.prices import intervals
from mlsched.simulation.taskgraph.iterations.reference import folder as files
from mlsched.simulation.taskgraph.iterations.reference import proof

FOLDERS = sorted(path.parent for path in (DOCS / "results" / "references").glob("*/manifest.json"))
#: Log -> its entries, that of the fewest jobs first.
OF_LOG: dict[str, list[Path]] = {}
for _folder in sorted(FOLDERS, key=lambda path: mlsched.read_reference(path).jobs):
    OF_LOG.setdefault(references.ENTRIES[_folder.name][0], []).append(_folder)
workload = functools.cache(references.workload)


def test_there_are_entries_and_each_is_small():
    assert len(FOLDERS) >= 5
    for folder in FOLDERS:
        assert folder.name in references.ENTRIES
        assert (folder / files.PRICES).stat().st_size <= 200_000
        assert all(file.stat().st_size <= 200_000 for file in folder.iterdir())


@pytest.mark.parametrize("log", OF_LOG)
def test_entries_hold(log: str):
    """By default two of each log: the smallest, and any other; else every entry."""
    if not log.startswith("synthetic:") and not references.LOGS[log].exists():
        pytest.skip(f"{references.LOGS[log]} is not there; set MLSCHED_DATA")
    smallest, *others = OF_LOG[log]
    for folder in (smallest, *share(others, len(others) or 1)):
        claim = mlsched.read_reference(folder)
        _, limit, nodes, pausing = references.ENTRIES[folder.name]
        load = workload(log, limit, nodes)
        assert claim.pausing == pausing, folder
        if (folder / files.SCHEDULE).exists():
            assert mlsched.check_reference(folder, load)[2] == [], folder
        else:
            assert claim.workload_hash == proof.identity(load), folder
            asked = proof.weighted(load, proof.weights(load, claim.weights))
            prices = files.stored_prices(folder)
            assert intervals.proven(proof.checked_jobs(asked), prices, pausing=pausing) >= claim.bound, folder
