"""What `print` shows of the plug-ins' public objects is one short line without addresses."""

from __future__ import annotations

import re

import mlsched
import mlsched_admission
import mlsched_papers
from mlsched.core.brief import MAX_LINE


def test_all_are_short_and_without_addresses(tmp_path):
    mlsched.save(mlsched.generate("admission", "small"), tmp_path / "state.json")
    judged = mlsched_admission.judge(tmp_path / "state.json")
    for thing in (judged, judged.verdict, judged.needs, mlsched_papers.EXPERIMENTS["slaq"]):
        assert len(repr(thing)) <= MAX_LINE + 1
        assert not re.search(r" at 0x|\n|array\(", repr(thing))
        assert str(thing) == repr(thing)
    html = judged._repr_html_()
    assert html.count("<table") == html.count("</table>") >= 1
