"""Processes and temporary files that survive a killed `mlsched certify`.

    python measurements/killed.py [--times N] [--seconds S] [--patience S]

Prints one JSON document. N times (default 20) a certification that would take minutes is started and killed (signal 9)
after a random time between 0 and S seconds (default 12: the start, the search for a plan, that for a proof); after
PATIENCE more seconds (default 5) it counts the processes that carry its mark in their environment and have not ended,
and the files in its folder for temporary files and in that of the certificate. "searching" says how often `exact`
was at work when the kill came.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import mlsched


def marked(mark: str) -> list[str]:
    """The commands of the living processes that have the mark."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it has ended since, or is another user's
    return found


def killed(place: Path, after: float, patience: float) -> dict[str, int]:
    """One certification, killed after so many seconds, and what there is of it so much later."""
    temporary, made = place / "temporary", place / "made"
    temporary.mkdir()
    made.mkdir()
    mark = uuid.uuid4().hex
    call = [sys.executable, "-m", "mlsched", "certify", str(place / "inst.json"), "-o", str(made / "proof")]
    environment = {**os.environ, "TMPDIR": str(temporary), "MLSCHED_MARK": mark}
    with subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as caller:
        time.sleep(after)
        assert caller.poll() is None, "certified too early: take a harder instance"
        before = marked(mark)
        caller.kill()
    time.sleep(patience)
    return {
        "processes before": len(before),
        "searching": sum("_exact_process" in command for command in before),
        "processes": len(marked(mark)),
        "files": len([*temporary.rglob("*"), *made.rglob("*")]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--patience", type=float, default=5.0)
    given = parser.parse_args()
    dice, rows = random.Random(0), []
    for _ in range(given.times):
        with tempfile.TemporaryDirectory() as folder:
            mlsched.save(mlsched.generate("quality", preset="fluid", seed=0), Path(folder) / "inst.json")
            rows.append(killed(Path(folder), given.seconds * dice.random(), given.patience))
            print(rows[-1], file=sys.stderr)
    print(json.dumps({"kills": len(rows), **{name: sum(row[name] for row in rows) for name in rows[0]}}))


if __name__ == "__main__":
    main()
