"""The papers' experiments, repeated: `reproduce("fitgpp")` measures what a paper printed and says which claims hold.

A plug-in of mlsched: the core does not need it. An experiment is a sub-package that exports one `EXPERIMENT`; it is
found by scanning. What is named here is imported when it is used, so that `mlsched reproduce --help` is quick.
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
