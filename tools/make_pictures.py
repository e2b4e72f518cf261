"""Draw the pictures of the pages with mlsched's own commands: `python tools/make_pictures.py [NAME...]`.

A page shows `docs/pictures/NAME.svg` and, next to it, the commands that draw it. The files are small: text stays text,
a style is written once, and coordinates have one decimal.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "docs" / "pictures"

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
    "worst": ("worst graphene:stop=least --problem taskgraph --preset six-tight --count 10 --most 1 --plot worst.svg",),
    "own-logs": ("simulate fifo srpt tiresias --trace sample:philly --set usage=drawn --plot own-logs.svg",),
    "preemption-simulation": (
        "simulate fifo fitgpp rand --problem preemption --trace synthetic:z:jobs=4096 --plot preemption-simulation.svg",
    ),
    "workers-simulation": (
        "simulate optimus fair max-rate srpt --problem workers --trace synthetic:chic --set rate=2.7 --set jobs=60 "
        "--plot workers-simulation.svg",
    ),
    "placement-simulation": (
        "simulate load-balancing tetris standalone harmony-plus --problem placement --trace synthetic:uniform "
        "--plot placement-simulation.svg",
    ),
    "quality-simulation": (
        "simulate slaq slaq-max-min fair --problem quality --trace synthetic:table1 --plot quality-simulation.svg",
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
        drawn = Path(f"{name}.svg").read_text(encoding="utf-8")
        (TARGET / f"{name}.svg").write_text(smaller(drawn), encoding="utf-8")


def rounded(attribute: re.Match[str]) -> str:
    """An attribute whose coordinates have one decimal."""
    return re.sub(r"-?\d+\.\d\d+", lambda number: f"{float(number[0]):.1f}", attribute[0])


def smaller(svg: str) -> str:
    """The same picture in fewer bytes."""
    styles: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return f' class="{styles.setdefault(found[1], f"s{len(styles)}")}"'

    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' style="([^"]*)"', named, svg)
    svg = re.sub(r' id="[a-z0-9]+_\d+"', "", svg)
    svg = re.sub(r'="[^"]*"', rounded, svg)  # attributes alone: the text of labels stays as it is
    svg = re.sub(r"\s*\n\s*", "\n", re.sub(r"\s*\n(?=[LzM] ?)", " ", svg))
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    return svg.replace("</style>", f"{rules}</style>", 1)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or COMMANDS:
        draw(wanted)
