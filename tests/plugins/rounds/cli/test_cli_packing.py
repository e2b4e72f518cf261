"""Pairs of jobs that share their GPUs, on the command line."""

from __future__ import annotations


def test_a_run_with_pairs_and_one_without_their_rates(tmp_path, cli) -> None:
    table, log = tmp_path / "table.json", tmp_path / "log.csv"
    table.write_text("""{"fast": {"('a', 1)": {"null": 10, "('a', 1)": [7, 7]}}}""")
    log.write_text("model,submit,gpus,steps\na,0,1,700\na,0,1,700\n")
    words = ["simulate", "gavel:policy=gandiva", "gavel:policy=isolated", "--simulator", "gavel", "--trace", str(log)]
    words += ["--cluster", "fast=1", "--set", f"throughputs={table}"]
    found = cli(*words, "--set", "packing=true")
    assert found.status == 0
    assert "of pairs that share GPUs as measured" in found.out
    assert "gavel:policy=gandiva will not run" in (without := cli(*words)).out + without.err
    assert "packing=true with Gavel's table" in without.err
