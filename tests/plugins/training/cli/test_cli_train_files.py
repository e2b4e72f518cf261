"""`mlsched train` refuses to write to what is not a file."""

from __future__ import annotations

import os

import pytest
from cli_fixtures import refuses_what_is_no_file


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("option", ["-o", "--plot"])
def test_what_is_no_file_is_refused_before_any_work(cli, option, tmp_path):
    refuses_what_is_no_file(cli, ("train", "chic", option), tmp_path)
