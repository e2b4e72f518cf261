"""Draw the pictures of the pages with mlsched's own commands: `python docs/make_pictures.py [NAME...]`.

A page shows `pictures/NAME.svg` and, beside it, the commands that draw it. Text stays text in these files, which keeps
them small.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().with_name("pictures")

#: The commands of each picture, run one after the other in an empty folder; the last one draws `NAME.svg`.
COMMANDS = {
    "taskgraph": (
        "generate taskgraph --preset six-tight --seed 2 -o graph.json",
        "solve graph.json --plot taskgraph.svg",
    ),
    "workers": ("generate workers --preset paper --seed 0 -o jobs.json", "solve jobs.json --plot workers.svg"),
    "preemption": (
        "generate preemption --preset surge --seed 21 -o surge.json",
        "solve surge.json --plot preemption.svg",
    ),
    "placement": (
        "generate placement --preset 6x3 --seed 0 -o servers.json",
        "solve servers.json --plot placement.svg",
    ),
    "quality": (
        "generate quality --preset small --seed 1 -o cores.json",
        "solve cores.json --objective total_loss_reduction --plot quality.svg",
    ),
    "front": (
        "generate taskgraph --preset six-tight --seed 5 -o graph.json",
        "pareto graph.json total_jct traffic --plot front.svg",
    ),
}


def draw(name: str) -> None:
    """Run the commands of one picture and keep what they drew."""
    import matplotlib

    from mlsched.cli.main import app

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": name})
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for command in COMMANDS[name]:
            app(shlex.split(command), standalone_mode=False)
        TARGET.mkdir(exist_ok=True)
        (TARGET / f"{name}.svg").write_bytes(Path(f"{name}.svg").read_bytes())


if __name__ == "__main__":
    for wanted in sys.argv[1:] or COMMANDS:
        draw(wanted)
