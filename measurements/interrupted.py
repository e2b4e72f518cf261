"""Ctrl-C at random moments of every long command: exit status, message, and the remaining files.

    python measurements/interrupted.py [--times N] [--seconds S] [--commands NAME ...] [--seed N]

Prints one JSON document. Each command is started N times (default 30) on a question that takes longer than S seconds
(default 6), and gets SIGINT after a random time between 0 and S seconds. "status 130": how often it ended with that
status; "other": the other statuses. "kept": how often it left its output file or folder, and "kept, wrong": how often
`mlsched check` refuses that. "said": how often the standard error was one line, or two, of mlsched's. "slowest, s": the
most wall seconds from the signal to the end.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

MLSCHED = [sys.executable, "-m", "mlsched"]
#: Name -> arguments in a folder with the files that `prepared` makes; `made`: its output.
COMMANDS = {
    "solve, cp-sat": "solve ten.json --solver cp-sat --threads 1 -o made --json",
    "solve, highs": "solve eight.json --solver highs -o made --json",
    "solve, scip": "solve eight.json --solver highs:engine=scip -o made --json",
    "certify, dual": "certify ten.json --proof dual -o made",
    "certify, logic": "certify fluid.json --proof logic -o made",
    "pareto": "pareto eight.json total_jct traffic --resume answers -o made.csv",
    "simulate": "simulate las fifo --trace synthetic:gangs --set jobs=20000",
    "reference": "reference synthetic:gangs --set jobs=300 --moves 1000000 -o made",
    "bench": "bench taskgraph --store made.sqlite",
    "worst": "worst fifo --problem taskgraph --count 1000",
    "reproduce": "reproduce mlfs --quick",
    "train": "train chic-plus -o made.npz",
}


def prepared(folder: Path) -> None:
    """The files that commands read."""
    drawn = (("eight", "taskgraph", "eight-loose"), ("ten", "taskgraph", "ten-tight"), ("fluid", "quality", "fluid"))
    for name, problem, preset in drawn:
        call = [*MLSCHED, "generate", problem, "--preset", preset, "--seed", "1", "-o", f"{name}.json"]
        subprocess.run(call, cwd=folder, check=True, capture_output=True)


def interrupted(arguments: str, folder: Path, after: float) -> tuple[int, str, str, float]:
    """Status, standard output and error of a command that is interrupted so many seconds after its start; its wait."""
    pipe = subprocess.PIPE
    with subprocess.Popen([*MLSCHED, *arguments.split()], cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        time.sleep(after)
        started = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    return process.returncode, out, err, time.perf_counter() - started


def refused(arguments: str, folder: Path) -> bool:
    """Whether the output of a command is there and `mlsched check` refuses it."""
    instance, made = arguments.split()[1], folder / "made"
    if arguments.startswith("solve"):
        call = ["check", instance, "made"]
    elif arguments.startswith("certify"):
        call = ["check", "made"]
    elif arguments.startswith("reference") and (made / "manifest.json").exists():
        call = ["check", "made", "--log", "synthetic:gangs", "--time-limit", "60"]
    else:
        return False
    return subprocess.run([*MLSCHED, *call], cwd=folder, capture_output=True, check=False).returncode != 0


def measured(
    arguments: str, files: Path, times: int, seconds: float, dice: random.Random, show: Callable[[Any], None]
) -> Any:
    """What a command did at all its interrupts."""
    seen, others, slowest = Counter[str](), Counter[int](), 0.0
    for _ in range(times):
        with tempfile.TemporaryDirectory() as place:
            folder, after = Path(place) / "here", seconds * dice.random()
            shutil.copytree(files, folder)
            status, _, err, wait = interrupted(arguments, folder, after)
            lines = err.splitlines()
            made = [*folder.glob("made*")]
            seen["status 130"] += status == 130
            seen["kept"] += bool(made)
            seen["said"] += 1 <= len(lines) <= 2 and all(line.startswith("mlsched: ") for line in lines)
            seen["kept, wrong"] += bool(made) and refused(arguments, folder)
            others[status] += status != 130
            slowest = max(slowest, wait)
            show((round(after, 2), status, lines[-2:], [path.name for path in made], round(wait, 2)))
    return {"times": times, **seen, "other": {k: n for k, n in others.items() if n}, "slowest, s": round(slowest, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = {}
    # What runs in the background ignores it, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as files:
        prepared(Path(files))
        for name in given.commands:
            dice = random.Random(f"{given.seed} {name}")

            def show(row: Any, name: str = name) -> None:
                print(name, *row, file=sys.stderr, flush=True)

            found[name] = measured(COMMANDS[name], Path(files), given.times, given.seconds, dice, show)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
