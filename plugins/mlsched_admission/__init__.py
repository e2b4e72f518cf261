"""Admission, a plug-in of mlsched: which waiting jobs start and whom they evict; decisions of real schedulers, judged.

It contains the problem `admission` with its solvers, the readers of cluster states, and `mlsched judge`. Public names
are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched_admission.api.free import Freeing, free_nodes
    from mlsched_admission.api.judgement import Judgement
    from mlsched_admission.api.states import certify_judgement, judge

#: Public name -> module that defines it.
_HOME = {
    "Freeing": "api.free",
    "Judgement": "api.judgement",
    "certify_judgement": "api.states",
    "free_nodes": "api.free",
    "judge": "api.states",
}

__all__ = ["Freeing", "Judgement", "certify_judgement", "free_nodes", "judge"]


__getattr__ = imported_at_first_use(__name__, _HOME)
