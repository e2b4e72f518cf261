"""`mlsched solve --certify` on rounds, which have no dual proofs."""

from __future__ import annotations

from mlsched import api


def test_solve_names_the_command_that_makes_another_proof(cli, tmp_path):
    path = tmp_path / "i.json"
    api.save(api.generate("rounds", "small", seed=1), path)
    assert cli("solve", path, "--certify", "--json").document["evidence"] == "unconfirmed"
    found = " ".join(cli("solve", path, "--objective", "total_steps", "--certify").out.split())
    line = "not certified: total_steps of a rounds.instance has no dual proofs; `mlsched certify` looks for one by"
    assert line in found
