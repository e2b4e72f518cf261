"""The index of the measurements names every script, what it printed and how long it takes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "make_measurements.py"))


def test_the_index_is_up_to_date() -> None:
    written = (ROOT / "measurements" / "README.md").read_text(encoding="utf-8")
    assert written == TOOL["index"](), "run python tools/make_measurements.py"


def test_every_script_has_its_row_and_minutes() -> None:
    minutes = TOOL["minutes"]()
    assert sorted(minutes) == [path.name for path in TOOL["scripts"]()]
    strange = {name: said for name, said in minutes.items() if not re.fullmatch(r"(more than )?[\d.]+|-", said)}
    assert not strange, "enter the CPU minutes of the recorded command (or -) in measurements/README.md"


def test_every_recorded_result_is_of_a_script_that_is_there() -> None:
    gone = set(TOOL["recorded"]()) - {path.name for path in TOOL["scripts"]()}
    assert not gone, "recorded by scripts that are no longer in measurements/"
