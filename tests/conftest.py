"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets: `data/` in $MLSCHED_DATA (default `../shared` from the repository root)."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("MLSCHED_DATA", root.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}: set MLSCHED_DATA to the folder that holds data/")
    return folder
