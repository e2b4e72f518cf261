"""The task-level model with rows of what can be done by the deadlines, for objectives that count it.

What stands between a proof and the model with intervals is how many iterations of how many jobs fit together before
their deadlines. The rows of `_time_rows` over "has started by t", up to the deadlines only, say that to the linear
relaxation and to conflicts; the intervals say the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlsched.formulations.taskgraph._bounds import Pool, packed, pools
from mlsched.formulations.taskgraph._cp_model import TaskModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import places
from mlsched.formulations.taskgraph._time_rows import Literal, Run, TimeRows, no

#: Variables up to which the rows are worth it.
MOST = 25_000


class OnTimeModel(TaskModel, TimeRows):
    """`TaskModel` with further variables after its own, which a solution of the latter always extends to."""

    def __init__(self, layout: Layout, objectives: tuple[str, ...], shared: Sequence[Pool]) -> None:
        self._shared = shared
        self._window: dict[Run, tuple[int, int]] = {}
        self._begun: dict[Run, list[Literal]] = {}
        self._after: dict[Run, Literal] = {}
        self._here: dict[tuple[Run, int, int], Literal] = {}
        super().__init__(layout, objectives)

    def _measure(self) -> None:
        super()._measure()
        if not self.on_time:
            return
        for j, i, k in self.layout.runs():
            self._follow(j, (k, i))
        self._in_time()
        for (j, i), literal in self.on_time.items():
            for k in self.layout.tasks_of[j]:
                self._clause(no(literal), self._started((k, i), self.layout.deadline[j] - self.layout.duration[k]))
        self._in_room(min(self.layout.arrival), max(self.layout.deadline))

    def _follow(self, j: int, run: Run) -> None:
        """Literals "has started by t" of a run, up to the last start with which it ends by the deadline.

        False for runs that are absent, and for late ones at all these times, as if they were.
        """
        layout, x = self.layout, self.x.get((j, run[1]))
        if layout.fixed and layout.is_fixed(*run):
            self._window[run], self._begun[run], self._after[run] = (layout.fixed[run[0]][1],) * 2, [], 1
            return
        low, high = layout.head[run[0]][run[1]], layout.deadline[j] - layout.duration[run[0]]
        begun = [self.cp.new_bool_var("") for _ in range(low, high + 1)]
        self._window[run], self._begun[run] = (low, max(low, high)), begun
        self._after[run] = begun[-1] if begun else 0
        self._rising(begun)
        for t, literal in enumerate(begun, low):
            self._if(self.start[run] <= t, literal)
            self._if(self.start[run] > t, no(literal), x)
        if x is not None and begun:
            self._clause(no(begun[-1]), x)


def on_time(layout: Layout, objectives: tuple[str, ...]) -> OnTimeModel:
    """The model from a layout with sharpened heads, with all pools; see `worth`."""
    return OnTimeModel(layout, objectives, pools(layout) + packed(layout))


def worth(layout: Layout, objectives: tuple[str, ...]) -> bool:
    """Whether the rows say something and there are not too many of them."""
    counted = {"total_accuracy", "accuracy_met"} & set(objectives) and layout.instance.accuracy_at != "final"
    if not counted or layout.reason is not None or any(p.whole for p in places(layout, "traffic" in objectives)):
        return False
    total = 0
    for j, i, k in layout.runs():
        width = max(0, layout.deadline[j] - layout.duration[k] - layout.head[k][i] + 1)
        total += width + (width + layout.duration[k]) * len(layout.nodes_of(k, i))
    return total <= MOST
