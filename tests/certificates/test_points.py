"""Points of fronts of task graphs: no bound is above the best within its limits, and no change makes more of it."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import random
import shutil
import subprocess
import sys
from collections import Counter

import forgery
import pytest
from certificate_examples import drawn
from draws import draws
from price_trees import changed
from taskgraph_claims import OBJECTIVES, examples, sense

from mlsched import api
from mlsched.certificates import bundle
from mlsched.certificates.by_prices import reasons_unproved
from mlsched.certificates.prices import core
from mlsched.certificates.prices.core import SCALE
from mlsched.certificates.taskgraph import prices as stated
from mlsched.cli.main import run
from mlsched.core import deadline
from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidInput, MlschedError, TooLarge
from mlsched.solvers import prices
from mlsched.solvers.taskgraph import brute_force

PAIRS = list(itertools.permutations(OBJECTIVES, 2))


def every(instance) -> list[dict[str, int]]:
    """The values of all plans that an optimum within limits may need, by brute force."""
    return [dict(zip(brute_force.OBJECTIVES, values, strict=True)) for values in brute_force.examined(instance)[0]]


def limited(instance, objectives, dice) -> tuple[tuple[tuple[str, int], ...], int]:
    """A limit on the second objective that some plan keeps, and the best value of the first within it."""
    (first, second), plans = objectives, every(instance)
    signs = [sense(instance, name) for name in objectives]
    limit = dice.choice(sorted({plan[second] for plan in plans}))
    best = min(signs[0] * plan[first] for plan in plans if signs[1] * plan[second] <= signs[1] * limit)
    return ((second, limit),), signs[0] * best


@pytest.mark.parametrize("objectives", PAIRS, ids="-".join)
def test_no_plan_within_a_limit_is_better_than_the_bound(objectives, report):
    """The best within the limit is brute force's; beyond it, genuine and changed prices prove nothing."""
    fate, dice = Counter[str](), random.Random("-".join(objectives))
    for instance in examples(draws(6, 300)):
        within, best = limited(instance, objectives, dice)
        sign = sense(instance, objectives[0])
        trees, bound = prices.trees(instance, objectives[0], best, Deadline(), within=within)
        assert sign * bound <= sign * best
        assert not list(reasons_unproved(instance, objectives[0], bound, trees, Deadline(), within))
        for by in (1, dice.randrange(1, 9)):
            other = [trees, [changed(trees[0], dice)]][by % 2]
            assert list(reasons_unproved(instance, objectives[0], best + sign * by, other, Deadline(), within))
        fate["reaches the best" if bound == best else "short of the best"] += 1
    report(f"taskgraph {' within '.join(objectives)}", [f"{n:5}  {how}" for how, n in sorted(fate.items())])


@pytest.mark.parametrize("objectives", PAIRS, ids="-".join)
def test_any_prices_bound_every_plan_within_a_limit(objectives):
    """Random prices of the limit's row and of others prove no more than what the best plan within it is worth."""
    dice = random.Random("-".join(objectives))
    for instance in examples(draws(6, 300)):
        within, best = limited(instance, objectives, dice)
        beyond = best + sense(instance, objectives[0])
        (claim,) = stated.CLAIMS[objectives[0]](instance.to_json(), beyond, lambda steps: None, within)
        for _ in range(10):
            price = {row: dice.randrange(2 ** dice.choice([10, 24, 28])) for row in claim.capacity}
            for _ in range(dice.randrange(4)):
                start = dice.randrange(8)
                row = f"{dice.choice(list(claim.capacity.room))} {start} {start + dice.randrange(1, 9)}"
                price[row] = dice.randrange(2 ** dice.choice([10, 24, 28]))
            assert core.bound(claim, price, {})[1] <= SCALE * (claim.target - 1), (instance, price)


def test_a_limit_is_made_use_of():
    """The bounds within limits are often better than those of all plans: else they would say nothing new."""
    better, dice = Counter[str](), random.Random(2)
    for instance in examples(draws(30, 200)):
        for objectives in PAIRS:
            within, best = limited(instance, objectives, dice)
            free = api.solve(instance, "brute-force", objective=objectives[0]).sort_key
            if best != free:
                sign = sense(instance, objectives[0])
                bound = prices.trees(instance, objectives[0], best, Deadline(), within=within)[1]
                better["the same" if sign * bound <= sign * free else "better"] += 1
    assert better["better"] > better["the same"] / 2, better


def front_of(instance, objectives, dice):
    """The plans of the front by brute force, in any order."""
    examined = brute_force.examined(instance)[0].values()
    plans = {tuple(instance.evaluate(plan)[name] for name in objectives): plan for plan in examined}
    chosen = [plans[values] for values in brute_force.front(instance, objectives)]
    dice.shuffle(chosen)
    return chosen


def covered(made) -> None:
    """Assert what the claims say together, of all plans by brute force."""
    instance, objectives = made.instance, made.objectives
    signs = [sense(instance, name) for name in objectives]
    reached = [[s * v for s, v in zip(signs, row, strict=True)] for row in made.sort_keys]
    bounds = [signs[0] * bound for bound in made.bounds[:-1]] + [signs[1] * made.bounds[-1]]
    assert reached == sorted(reached)
    for plan in every(instance):
        first, second = (s * plan[name] for s, name in zip(signs, objectives, strict=True))
        number = next((n for n, point in enumerate(reached) if point[1] <= second), len(reached) - 1)
        assert first >= bounds[number]
        assert second >= bounds[-1]
        assert made.evidence is None or any(a <= first and b <= second for a, b in reached)


def test_for_every_plan_a_point_is_as_good_but_for_the_gaps(tmp_path, report):
    """Of all plans by brute force, whole fronts and parts of them; what is called whole is."""
    fate, dice = Counter[str](), random.Random(4)
    for k, instance in enumerate(examples(draws(30, 500))):
        objectives = max(dice.sample(PAIRS, 5), key=lambda names: len(brute_force.front(instance, names)))
        plans = front_of(instance, objectives, dice)
        plans = plans if k % 2 == 0 else plans[: dice.randrange(1, len(plans) + 1)]
        made = api.certify_front(instance, plans, tmp_path / str(k), objectives=objectives)
        again = api.check_certificate(tmp_path / str(k))
        assert (again.wrong, again.bounds, again.sort_keys) == ((), made.bounds, made.sort_keys)
        covered(made)
        whole = brute_force.front(instance, objectives) == list(made.sort_keys)
        assert whole or made.evidence is None
        fate["whole, and said to be" if made.evidence else "whole" if whole else "not whole"] += 1
        fate["several points"] += len(plans) > 1
        fate["whole, of several points"] += made.evidence is not None and len(plans) > 1
    report("points of fronts", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
    assert fate["whole, of several points"]
    assert fate["not whole"]


@pytest.fixture(scope="module")
def genuine(tmp_path_factory):
    """The folder of a front of several points, whose bounds are short of some of them."""
    dice, folder = random.Random(0), tmp_path_factory.mktemp("points") / "front"
    for instance in examples(200):
        plans = front_of(instance, ("total_jct", "total_accuracy"), dice)
        if len(plans) > 2:
            break
    assert len(api.certify_front(instance, plans, folder, objectives=["total_jct", "total_accuracy"]).sort_keys) > 2
    return folder


def test_plans_are_put_in_order_whichever_objective_comes_first(genuine, tmp_path):
    known = api.check_certificate(genuine)
    for folder, plans in (("as they are", known.plans), ("turned", known.plans[::-1])):
        made = api.certify_front(
            known.instance, plans, tmp_path / folder, objectives=["total_accuracy", "total_jct"], proof="dual"
        )
        assert made.sort_keys == tuple((accuracy, jct) for jct, accuracy in known.sort_keys[::-1])


def test_a_check_that_takes_too_long_is_none(genuine, ticking):
    ticking(deadline)
    found = bundle.check(genuine, seconds=1500.0)
    assert found.wrong == ("the check did not end in 1500 s; give it more time (--time-limit)",)
    assert (found.evidence, found.claim, found.gaps) == (None, "", ())


@pytest.fixture
def forged(genuine, tmp_path):
    """A copy of it, and a function that writes what is changed there, with hashes that agree."""
    folder = tmp_path / "front"
    shutil.copytree(genuine, folder)

    def write(name: str, content) -> str:
        (folder / f"{name}.json").write_text(json.dumps(content))
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["sha256"][f"{name}.json"] = hashlib.sha256((folder / f"{name}.json").read_bytes()).hexdigest()
        if name != "manifest":
            (folder / "manifest.json").write_text(json.dumps(manifest))
        return " ".join(api.check_certificate(folder).wrong)

    return folder, write


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def test_what_is_not_proved_is_refused(forged):
    folder, write = forged
    manifest = read(folder, "manifest")
    plans = read(folder, "plans")
    assert write("plans", {**plans, "instance_hash": "0" * 64}) == "plans.json answers another instance"
    assert write("plans", plans) == "", "genuine"
    manifest = read(folder, "manifest")
    for number, said in enumerate(manifest["proofs"]):
        name, bound = said["objective"], said["bound"]
        better = bound + (1 if name == "total_jct" else -1)
        claims = [*manifest["proofs"]]
        for changed_one, words in (
            ({**said, "bound": better + (40 if name == "total_jct" else -(10**7))}, "does not prove"),
            ({**said, "bound": float(bound)}, "has no bound that is an integer"),
            ({**said, "bound": True}, "has no bound that is an integer"),
            ({**said, "bound": 2**300}, "has no bound that is an integer"),
            ({**said, "within": {"total_accuracy": 10**7}}, "is not about"),
            ({**said, "objective": "makespan"}, "is not about"),
            ({**said, "more": 1}, "is not about"),
            ("no claim", "has no bound"),
        ):  # fmt: skip
            claims[number] = changed_one
            assert f"claim {number + 1}" in (wrong := write("manifest", {**manifest, "proofs": claims})), wrong
            assert words in wrong
    for limit in (float, str):
        claims = [*manifest["proofs"]]
        claims[1] = {**claims[1], "within": {name: limit(most) for name, most in claims[1]["within"].items()}}
        assert "claim 2 is not about" in write("manifest", {**manifest, "proofs": claims})
    assert "these points need" in write("manifest", {**manifest, "proofs": manifest["proofs"][1:]})
    values = [[row[0], row[1] + 1] for row in manifest["values"]]
    assert "the manifest claims" in write("manifest", {**manifest, "values": values})
    floats = [[float(v) for v in row] for row in manifest["values"]]
    assert "the manifest claims" in write("manifest", {**manifest, "values": floats})
    turned = {
        **manifest,
        "objectives": manifest["objectives"][::-1],
        "values": [row[::-1] for row in manifest["values"]],
    }
    assert "the plans are not a front: point 2 is not worse in total_accuracy" in write("manifest", turned)


def test_trees_are_each_its_own_claims(forged):
    folder, write = forged
    trees = read(folder, "tree")["trees"]
    assert "claims: these points need" in write("tree", {"trees": trees[:-1]})
    assert "claim 1: tree.json does not prove" in write("tree", {"trees": [[[]], *trees[1:]]})
    assert "claim 1: tree.json does not prove" in write("tree", {"trees": [[7], *trees[1:]]})


def test_the_checker_alone_says_the_same(forged):
    folder, write = forged
    call = [sys.executable, "-I", "-S", str(folder / "checker.py"), str(folder)]
    found = subprocess.run(call, capture_output=True, text=True, check=True)
    manifest = read(folder, "manifest")
    lines = found.stdout.splitlines()
    assert len(lines) == len(manifest["proofs"])
    assert lines[0] == f"proved: no plan of this instance has a better total_jct than {manifest['proofs'][0]['bound']}"
    assert all(" with total_accuracy as good as " in line for line in lines[1:-1])
    for bound in (10**6, 1.5):
        claims = [{**manifest["proofs"][0], "bound": bound}, *manifest["proofs"][1:]]
        write("manifest", {**manifest, "proofs": claims})
        found = subprocess.run(call, capture_output=True, text=True, check=False)
        assert (found.returncode, found.stderr[:11]) == (1, "not proved:")
    write("manifest", {**manifest, "proofs": manifest["proofs"][1:]})
    assert "trees for each claim" in subprocess.run(call, capture_output=True, text=True, check=False).stderr


def change(folder, dice) -> None:
    """One file of a folder in another state: a price, a bound, a limit, any number."""
    name = dice.choice(["manifest", "manifest", "tree", "instance", "plans"])
    content = read(folder, name)
    if name == "tree":
        k = dice.randrange(len(content["trees"]))
        content["trees"][k] = [changed(tree, dice) for tree in content["trees"][k]]
    elif name == "manifest" and dice.random() < 0.7:
        said = dice.choice(content["proofs"])
        said["bound"] += dice.choice([-2, -1, 1, 1, 2, 9])
        if dice.random() < 0.3:
            limits = {other: limit + dice.choice([-1, 1]) for other, limit in said["within"].items()}
            said["within"] = dice.choice([{}, limits, None])
    text = json.dumps(content)
    (folder / f"{name}.json").write_text(forgery._number(text, dice) if dice.random() < 0.4 else text)


def sealed(folder) -> None:
    """Make the manifest say what the files are, as a forger would; where they cannot be read, as it is."""
    with contextlib.suppress(MlschedError, ValueError, TypeError, KeyError, OSError):
        plans = read(folder, "plans") | {"instance_hash": api.load(folder / "instance.json").hash}
        (folder / "plans.json").write_text(json.dumps(plans))
        manifest = read(folder, "manifest") | {"instance_hash": plans["instance_hash"]}
        for name in manifest["sha256"]:
            manifest["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))


def test_no_forged_folder_is_accepted_unless_what_it_claims_is_true(tmp_path, report):
    fate, folders, dice = Counter[str](), [], random.Random(8)
    for k, instance in enumerate(examples(6)):
        objectives = max(dice.sample(PAIRS, 6), key=lambda names: len(brute_force.front(instance, names)))
        folders.append(tmp_path / f"genuine {k}")
        api.certify_front(instance, front_of(instance, objectives, dice), folders[-1], objectives=objectives)
    for number in range(draws(100, 3000)):
        folder = tmp_path / str(number)
        shutil.copytree(dice.choice(folders), folder)
        change(folder, dice)
        sealed(folder)
        try:
            found = api.check_certificate(folder)
        except InvalidInput:
            fate["cannot be read"] += 1
            continue
        fate["refused" if found.wrong else "accepted"] += 1
        if not found.wrong:
            with contextlib.suppress(TooLarge):  # of another instance
                covered(found)
    report("forged points", [f"{n:5}  {how}" for how, n in sorted(fate.items())])
    assert fate["refused"]
    assert fate["accepted"]


def test_what_cannot_be_is_refused_in_a_line_before_any_work(tmp_path):
    instance = next(drawn("taskgraph", 1))
    plans = [api.solve(instance, "mlf-h").plan]

    def certify(objectives, instance=instance, **more):
        return api.certify_front(instance, plans, tmp_path / "no", objectives=objectives, **more)

    with pytest.raises(InvalidInput, match="expected two, for points of a front to be certified by prices"):
        certify(["total_jct", "makespan", "deadlines_met"])
    with pytest.raises(InvalidInput, match="expected two"):
        certify(["total_jct", "total_jct"])
    with pytest.raises(InvalidInput, match=r"traffic of a taskgraph\.instance cannot be certified by prices"):
        certify(["total_jct", "traffic"])
    with pytest.raises(InvalidInput, match="first: makespan, but points"):
        certify(["total_jct", "deadlines_met"], first=["makespan"])
    with pytest.raises(InvalidInput, match=r"fronts of a taskgraph\.instance cannot be certified"):
        certify(["total_jct", "makespan"], proof="logic")
    with pytest.raises(InvalidInput, match="proof: 'words', expected one of dual, logic"):
        certify(["total_jct", "makespan"], proof="words")
    with pytest.raises(InvalidInput, match=r"points of fronts of a quality\.instance cannot be certified"):
        certify(["worst_loss", "proportional_loss"], next(drawn("quality", 1)), proof="dual")
    with pytest.raises(InvalidInput, match="the front is empty"):
        api.certify_front(instance, [], tmp_path / "no", objectives=["total_jct", "makespan"])
    with pytest.raises(InvalidInput, match="these plans are not a front: point 2 is not worse in total_jct"):
        api.certify_front(instance, 2 * plans, tmp_path / "no", objectives=["total_jct", "makespan"])
    with pytest.raises(InvalidInput, match=r"plans of a quality\.instance that are as good in another objective"):
        prices.trees(next(drawn("quality", 1)), "worst_loss", 1, Deadline(), within=(("worst_loss", 1),))
    assert not (tmp_path / "no").exists()


def test_the_command_certifies_a_front_and_checks_it(tmp_path, capsys):
    file, folder = tmp_path / "graph.json", tmp_path / "front"
    api.save(api.generate("taskgraph", preset="six-tight", seed=1), file)
    assert run(["pareto", str(file), "total_jct", "makespan", "--certify", str(folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["certificate"]
    assert document["proof"] == "dual"
    assert len(document["bounds"]) == len(document["points"]) + 1
    assert run(["check", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "certified: for every plan, the point is as good in makespan and at most 1.1 % worse in total_jct" in shown
    assert run(["pareto", str(file), "total_jct", "traffic", "--certify", str(tmp_path / "no")]) == 2
    assert "traffic of a taskgraph.instance cannot be certified by prices" in capsys.readouterr().err
