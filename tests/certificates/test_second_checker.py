"""The checker in JavaScript, which was written from the documentation, says what the other one says."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from certificate_examples import drawn
from draws import draws
from price_trees import changed

from mlsched import api
from mlsched.certificates.by_prices import reasons_unproved
from mlsched.core.deadline import Deadline
from mlsched.core.files import read_json, write_json

CHECKER = Path(__file__).parents[2] / "examples" / "certificates" / "check.js"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which runs JavaScript")


def test_both_checkers_agree_on_genuine_and_on_changed_trees(tmp_path, report):
    fate, dice = Counter[str](), random.Random(5)
    for k, instance in enumerate(drawn("workers", draws(4, 60))):
        folder = tmp_path / str(k)
        best = api.certify(instance, folder).sort_key
        ((tree,),), manifest = read_json(folder / "tree.json")["trees"], read_json(folder / "manifest.json")
        for _ in range(draws(3, 5)):
            bound, other = best + dice.choice([0, 0, 1, -1]), changed(tree, dice) if dice.random() < 0.7 else tree
            write_json(folder / "tree.json", {"trees": [[other]]})
            write_json(folder / "manifest.json", {**manifest, "proofs": [{**manifest["proofs"][0], "bound": bound}]})
            call = ["node", str(CHECKER), str(folder)]
            said = subprocess.run(call, capture_output=True, text=True, check=False).stdout.startswith("proved")
            ours = not list(reasons_unproved(instance, "total_jct", bound, [other], Deadline()))
            assert not said or bound <= best
            fate[f"{'proved' if said else 'refused'} by it, {'proved' if ours else 'refused'} by mlsched"] += 1
            assert said == ours, (other, bound)
    report("a second checker", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
