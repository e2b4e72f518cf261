"""Forged certificates: a genuine folder, changed in one of many ways, its hashes made anew as a forger would.

Used by the tests and by `measurements/forged.py`.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from price_trees import changed

from mlsched import api
from mlsched.certificates.checker import HEADER
from mlsched.core.errors import MlschedError

GIGABYTE = 10**9


def rehash(folder: Path) -> None:
    """Make the manifest say what the files are, and of which instance; files as they are where that cannot be read."""
    path = folder / "manifest.json"
    if path.stat().st_size > 2**24:
        return  # which is refused as it is
    try:
        manifest = json.loads(path.read_text())
        for name in manifest["sha256"]:
            if (folder / name).is_file() and (folder / name).stat().st_size < GIGABYTE:
                manifest["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        manifest["instance_hash"] = api.load(folder / "instance.json").hash
        path_of_plans = folder / "plans.json"
        plans = json.loads(path_of_plans.read_text())
        path_of_plans.write_text(json.dumps({**plans, "instance_hash": manifest["instance_hash"]}))
        manifest["sha256"]["plans.json"] = hashlib.sha256(path_of_plans.read_bytes()).hexdigest()
    except (MlschedError, ValueError, TypeError, KeyError, OSError, AttributeError, RecursionError):
        pass  # what cannot be read is refused as it is
    else:
        path.write_text(json.dumps(manifest))


def _number(text: str, dice: random.Random) -> str:
    """One of the integers of a text changed, a little or beyond all limits."""
    found = dice.choice(list(re.finditer(r"\d+", text)) or [None])
    if found is None:
        return text + "0"
    old = int(found[0])
    new = dice.choice([old - 1, old + 1, 2 * old, 0, 1, -1, 10**9, 2**53 + 1, 10**400])
    return text[: found.start()] + str(new) + text[found.end() :]


def _words(text: str, dice: random.Random) -> str:
    """Lines and words left out, doubled, exchanged; a literal turned; a number changed."""
    lines = text.split("\n")
    for _ in range(dice.choice([1, 1, 1, 3])):
        i, j = dice.randrange(len(lines)), dice.randrange(len(lines))
        words = lines[i].split()
        match dice.randrange(7):
            case 0 if len(lines) > 1:
                del lines[i]
            case 1:
                lines.insert(i, lines[j])
            case 2:
                lines[i], lines[j] = lines[j], lines[i]
            case 3 if words:
                del words[dice.randrange(len(words))]
                lines[i] = " ".join(words)
            case 4 if words:
                k = dice.randrange(len(words))
                words[k] = f"~{words[k]}".replace("~~", "")
                lines[i] = " ".join(words)
            case _:
                lines[i] = _number(lines[i], dice)
    return "\n".join(lines)


def _bytes(text: str, dice: random.Random) -> str:
    """Signs put in, taken out or repeated."""
    i, j = sorted(dice.randrange(len(text) + 1) for _ in range(2))
    return dice.choice(
        [text[:i], text[i:], text[:i] + text[j:], text[:j] + text[i:], text[:i] + "\0\ufeff\u2028" + text[i:], text * 3]
    )


def _json(text: str, dice: random.Random) -> str:
    """A field of a document left out, of another type, or deep."""
    data = json.loads(text)
    name = dice.choice(list(data))
    odd: list[Any] = [None, True, -1, 1.5, 10**30, "x" * 10**5, [], {}, [[]], "\n+1 x1 >= 1 ;", data]
    odd += [[[0] * 1000] * 100, [*([data[name]] * 3)]]
    if dice.random() < 0.2:
        del data[name]
    else:
        data[name] = dice.choice(odd)
    made = json.dumps(data)
    return made.replace("null", "[" * 10**5, 1) if dice.random() < 0.1 else made


def _names(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """Names of an instance that would say something to a checker that read them."""
    path = folder / "instance.json"
    data = json.loads(path.read_text())
    for field in ("resources", "types", "pressures", "models"):
        if field in data:
            sign = dice.choice(["\n", "\r", "\x0b", "\u2028", "\x85", "\r\n"])
            step = f"{sign}{dice.choice('+-')}1 x{dice.randrange(1, 9)} >= {dice.randrange(2)} ;{sign}* "
            data[field] = [f"{label}{step}{k}" for k, label in enumerate(data[field])]
    path.write_text(json.dumps(data))
    for opb in folder.glob("*.opb"):
        text = opb.read_text()
        opb.write_text(text.replace(" cpu", f" {data.get('resources', ['cpu'])[0]}"))


def _bomb(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """A proof or a file that asks for more than any machine has."""
    log = "1.log"
    wide = "x1 " * 2 + "+ "
    steps: list[Callable[[], str]] = [
        lambda: "l 1\n" + "".join(f"pol {k} {k} +\n" for k in range(1, 10**4)),
        lambda: "l 1\npol 1 " + f"{10**70} * " * 10**4 + "\n",
        lambda: "l 1\n" + "pol 1\n" * 10**5,
        lambda: "l 1\n" + "rup +1 x1 >= 0 ;\n" * 10**4,
        lambda: "".join(f"rup +1 x{k} >= 0 ;\n" for k in range(1, 3000)) + "rup +1 x1 +1 x2 >= 2 ;\n" * 100,
        lambda: "l 1\npol " + "1 " * 10**5 + "+ " * (10**5 - 1) + "\n",
        lambda: "l 1\npol 1 " + "s " * 10**5 + "\n",
        lambda: "pol x1 " + wide * 10**4 + "\n",
        lambda: "\n" * 10**6,
        lambda: "* " + "x" * 10**7,
        lambda: "rup " + " ".join(f"+1 x{k}" for k in range(1, 10**5)) + " >= 0 ;\n" * 3,
        lambda: "soli " + " ".join(f"x{k}" for k in range(1, 10**5)) + "\n",
    ]
    if dice.random() < 0.8:
        (folder / log).write_text(f"{HEADER}\n{dice.choice(steps)()}c 1\n")
    else:
        name = dice.choice([log, "1.opb", "instance.json", "plans.json", "checker.py", "manifest.json"])
        with (folder / name).open("r+b") as stream:
            stream.truncate(dice.choice([3 * GIGABYTE, 2**28, 2**23, 2**20]))


def _exchange(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """Files of another certificate."""
    other = dice.choice(others)
    for name in dice.choice(
        [["plans.json"], ["instance.json"], ["instance.json", "plans.json"], ["1.opb", "1.log"], ["1.log"]]
    ):
        shutil.copyfile(other / name, folder / name)


def _claims(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """A manifest that claims something else."""
    path = folder / "manifest.json"
    data = json.loads(path.read_text())
    proofs = data["proofs"]
    change = dice.choice(["value", "bound", "minimum", "offset", "scale", "proofs", "objective", "proof", "version"])
    if change == "value":
        data["values"][0][0] += dice.choice([-1, 1, 10**6])
    elif change == "bound":
        dice.choice(proofs)["bound"] += dice.choice([-1, 1, 10**6, -(10**6)])
    elif change == "proofs":
        data["proofs"] = dice.choice([[], proofs * 2, proofs[1:], proofs * 10**3, [[]]])
    elif change == "objective":
        names = ["total_jct", "makespan", "victim_count", "worst_loss", "total_speed", "x"]
        data["objectives"] = [dice.choice(names)]
    elif change == "proof":
        data["proof"] = dice.choice(["dual", "logic", "x"])
    elif change == "version":
        data["version"] = dice.choice([0, 1, 2, 3, "1"])
    else:
        proofs[0][change] += dice.choice([-1, 1])
        data["values"][0][0] += dice.choice([0, -1, 1])
    path.write_text(json.dumps(data))


def _points(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """A front that claims something else: a point less or twice, other values, objectives, bounds or limits."""
    manifest, plans = (json.loads((folder / f"{name}.json").read_text()) for name in ("manifest", "plans"))
    point = dice.randrange(len(manifest["values"]))
    change = dice.choice(["less", "twice", "value", "objectives", "first", "claim", "claims"])
    if change in ("less", "twice"):
        for rows in (manifest["values"], plans["plans"]):
            rows[point : point + 1] = [rows[point]] * (2 * (change == "twice"))
    elif change == "value":
        manifest["values"][point][dice.randrange(2)] += dice.choice([-1, 1, 10**6])
    elif change == "objectives":
        manifest["objectives"] = dice.choice([manifest["objectives"][::-1], ["makespan", "total_jct"], ["x"], []])
    elif change == "first":
        manifest["first"] = dice.choice([[], manifest["objectives"][:1], ["total_jct"]])
    elif change == "claim":
        claim = dice.choice(manifest["proofs"])
        claim["bound"] += dice.choice([-1, 1, 1, 10**6])
    else:
        claims = manifest["proofs"]
        claims[:] = dice.choice([claims[1:], claims * 2, claims[::-1], [{**claim, "within": {}} for claim in claims]])
    for name, data in (("manifest", manifest), ("plans", plans)):
        (folder / f"{name}.json").write_text(json.dumps(data))


def _strangers(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """A file more, or another checker."""
    name = dice.choice(["re.py", "sys.py", "pathlib.py", "x" * 200, "1.opb ", "checker.py"])
    (folder / name).write_text('print("proved: the minimum is 0")\n')
    if dice.random() < 0.5:
        path = folder / "manifest.json"
        data = json.loads(path.read_text())
        data["sha256"][name] = ""
        path.write_text(json.dumps(data))


def _tree(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """Prices, branches and nodes changed, trees too many, or one that is wide or deep."""
    path = folder / "tree.json"
    trees = json.loads(path.read_text())["trees"]
    odd: list[Any] = [
        [],
        trees * 2,
        trees[1:],
        [[]],
        [[[[{}]] * 10**5]],
        [[[[{}, 0, "0", k] for k in range(10**4)]]],
        [[[{}]]],
        None,
    ]
    if dice.random() < 0.7:
        trees = [[changed(tree, dice) for tree in some] for some in trees]
    else:
        trees = dice.choice(odd)
    path.write_text(json.dumps({"trees": trees}))


def _text_of(name: str, change: Callable[[str, random.Random], str]) -> Callable[..., None]:
    def made(folder: Path, dice: random.Random, others: list[Path]) -> None:
        text = (folder / name).read_text()
        (folder / name).write_text(change(text, dice), encoding="utf-8", errors="replace")

    made.__name__ = f"{change.__name__[1:]} of {name}"
    return made


#: Ways to forge: functions of the folder, the dice and the genuine folders.
WAYS: list[Callable[..., None]] = [
    *(_text_of(name, _number) for name in ("instance.json", "plans.json", "manifest.json")),
    *(_text_of(name, _json) for name in ("instance.json", "plans.json", "manifest.json")),
    *(_text_of(name, _words) for name in ("1.opb", "1.log", "1.log")),
    *(_text_of(name, _bytes) for name in ("instance.json", "plans.json", "manifest.json", "1.opb", "1.log")),
    *(_text_of("tree.json", change) for change in (_number, _bytes)),
    *(_points, _points, _names, _bomb, _exchange, _claims, _strangers, _tree, _tree),
]


def forge(genuine: list[Path], folder: Path, dice: random.Random) -> str:
    """Make `folder` a forged copy of one of the genuine ones; how it was forged."""
    shutil.copytree(dice.choice(genuine), folder)
    ways = dice.sample(WAYS, dice.choice([1, 1, 1, 2]))
    for way in ways:
        try:
            way(folder, dice, genuine)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OSError, RecursionError):
            continue  # the way before has left nothing for this one
    rehash(folder)
    return ways[0].__name__.removeprefix("_")


def _claimed(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """A reference that claims something else."""
    path = folder / "manifest.json"
    data = json.loads(path.read_text())
    match dice.randrange(5):
        case 0:
            data["bound"] += dice.choice([1, 1, 10, -1, 10**9])
        case 1:
            data["value"] -= dice.choice([1, 1, 10, -1, data["value"]])
        case 2:
            data["pausing"] = not data.get("pausing", False)
        case 3:
            data["weights"] = dice.choice(["area", "urgency", "class", "x"])
        case _:
            text = dice.choice(["both sides hold\n", "\x1b[2J\r", "\u202e", "x" * 10**5, "x\0", "\ud800"])
            field = dice.choice(["how", "source", "cluster", "versions", "log_options", "workload_hash"])
            data[field] = {text: text} if isinstance(data.get(field), dict) else text
    path.write_text(json.dumps(data))


def _packed(name: str, change: Callable[[str, random.Random], str]) -> Callable[..., None]:
    def made(folder: Path, dice: random.Random, others: list[Path]) -> None:
        text = gzip.decompress((folder / name).read_bytes()).decode()
        (folder / name).write_bytes(gzip.compress(change(text, dice).encode("utf-8", "replace"), 1))

    made.__name__ = f"{change.__name__[1:]} of {name}"
    return made


def _gzip_bomb(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """Prices or a schedule that are large, deep, cut off, or of many members."""
    path = folder / dice.choice(["prices.json.gz", "schedule.json.gz"])
    empty = gzip.compress(b"", mtime=0)
    makes: list[Callable[[], bytes]] = [
        lambda: gzip.compress(b" " * 2**28, 1),
        lambda: gzip.compress(b'{"wait":' + b"[" * 10**6, 1),
        lambda: gzip.compress(b'{"wait":[' + b"{}," * 10**7 + b"{}]}", 1),
        lambda: gzip.compress(b'{"start":0,"step":1,"bits":0,"values":[[' + b"1," * 120_000 + b"1]]}", 1),
        lambda: gzip.compress(b'{"start":0,"step":1,"bits":0,"values":[' + b"[1]," * 10**6 + b"[1]]}", 1),
        lambda: empty * 10**5,
        lambda: path.read_bytes()[: dice.randrange(1, 60)],
        lambda: b"no gzip",
    ]
    path.write_bytes(dice.choice(makes)())


def _swapped(folder: Path, dice: random.Random, others: list[Path]) -> None:
    """A file of another reference."""
    name = dice.choice(["prices.json.gz", "schedule.json.gz", "manifest.json"])
    shutil.copyfile(dice.choice(others) / name, folder / name)


#: Ways to forge a reference.
REFERENCE_WAYS: list[Callable[..., None]] = [
    *(_text_of("manifest.json", change) for change in (_number, _json, _bytes)),
    *(_packed(name, change) for name in ("prices.json.gz", "schedule.json.gz") for change in (_number, _number, _json)),
    *(_claimed, _claimed, _claimed, _swapped, _gzip_bomb),
]


def forge_reference(genuine: list[Path], folder: Path, dice: random.Random) -> str:
    """Make `folder` a forged copy of one of the genuine references; how it was forged."""
    shutil.copytree(dice.choice(genuine), folder)
    way = dice.choice(REFERENCE_WAYS)
    with contextlib.suppress(ValueError, TypeError, KeyError, IndexError, AttributeError):
        way(folder, dice, genuine)
    return f"reference: {way.__name__.removeprefix('_')}"
