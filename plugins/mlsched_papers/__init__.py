"""Reproductions of the papers' experiments: `reproduce("fitgpp")` repeats a paper's measurements and tests its claims.

A plug-in of mlsched: the core is independent of it. An experiment is a sub-package that exports one `EXPERIMENT`;
scanning finds it. Public names are imported when they are used, so that `mlsched reproduce --help` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched_papers.experiment import Experiment, Settings
    from mlsched_papers.rendering import render
    from mlsched_papers.report import Report
    from mlsched_papers.reproduction import EXPERIMENTS, reproduce

#: Public name -> module that defines it.
_HOME = {
    "EXPERIMENTS": "reproduction",
    "Experiment": "experiment",
    "Report": "report",
    "Settings": "experiment",
    "render": "rendering",
    "reproduce": "reproduction",
}

__all__ = ["EXPERIMENTS", "Experiment", "Report", "Settings", "render", "reproduce"]


__getattr__ = imported_at_first_use(__name__, _HOME)
