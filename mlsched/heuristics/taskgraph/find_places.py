"""Places of chosen units, and pauses of units that were not chosen (step 3 of `preemption`).

The step is the same for the room of a snapshot (`preemption`) and of a run over a log (`iterations/preempt`): both
implement `Room`.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Room(Protocol):
    """The nodes during a round. Units are compared by their place in the order; they take and release room."""

    @property
    def moves(self) -> int:
        """The number of running units that have moved so far."""

    def runs(self, unit: Any) -> bool:
        """Return whether a unit ran when the round began."""

    def place(self, unit: Any) -> bool:
        """Start a waiting unit; let a released unit take its nodes again, or move; return False without room."""

    def behind(self, unit: Any) -> list[Any]:
        """Return the running units behind one (None: all) that occupy their nodes."""

    def release(self, units: Sequence[Any]) -> None:
        """Let running units give up their nodes for now."""

    def keep(self, units: Sequence[Any]) -> None:
        """Let running units take their nodes again, which have room."""

    def hold(self, unit: Any) -> bool:
        """Let a running unit take its nodes again, if there is room on all of them."""

    def leave(self, unit: Any) -> None:
        """Pause a running unit that has released its nodes."""

    def disturbed(self, units: Sequence[Any]) -> list[bool]:
        """Return for each unit if another unit has started on nodes that it has released.

        Undisturbed units that fitted together fit again, in any order.
        """

    def hopeful(self, units: list[Any], failed: Any) -> list[Any]:
        """Return the units that may find room though an earlier waiting unit failed.

        For later units, fewer others release their nodes, and some of these nodes have been taken since.
        """

    def start_others(self, before: Callable[[Any], None]) -> None:
        """Start waiting units that were not chosen, in their order; `before` is called with each that is tried."""


def find_places(room: Room, chosen: list[Any], leaving: list[Any], overloaded: bool = False) -> None:
    """Find places (step 3).

    Args:
        room: the nodes.
        chosen: the waiting units that were chosen, in their order.
        leaving: the running units that were not chosen, in their order.
        overloaded: a node is used beyond its capacity, so that running units have to leave it.
    """
    room.release(leaving)
    waiting = list(chosen)
    if overloaded:
        worse = room.behind(None)
        room.release(worse)
        waiting = sorted(waiting + _return_to_nodes(room, worse))
    settled = not overloaded
    while waiting:
        unit = heapq.heappop(waiting)
        if room.place(unit):
            continue
        worse = room.behind(unit)
        room.release(worse)
        placed = room.place(unit)
        for other in _return_to_nodes(room, worse):
            heapq.heappush(waiting, other)
        if placed:
            continue
        settled = False
        if room.runs(unit):
            room.leave(unit)
        else:
            waiting = room.hopeful(waiting, unit)
            heapq.heapify(waiting)
    if settled:  # all chosen units have a place, and the others would not fit beside them
        for unit in leaving:
            room.leave(unit)
        return
    done = 0

    def before(unit: Any) -> None:
        nonlocal done
        end = len(leaving) if unit is None else bisect_left(leaving, unit)
        _return_or_pause(room, leaving[done:end])
        done = max(done, end)

    room.start_others(before)
    before(None)


def _return_to_nodes(room: Room, units: list[Any]) -> list[Any]:
    """Let units take their nodes again, in their order; return those that cannot."""
    flags = room.disturbed(units)
    room.keep([unit for unit, unsure in zip(units, flags, strict=True) if not unsure])
    return [unit for unit, unsure in zip(units, flags, strict=True) if unsure and not room.hold(unit)]


def _return_or_pause(room: Room, leaving: list[Any]) -> None:
    """Let units that have released their nodes take them again, in their order; or move, or pause."""
    while leaving:
        unsure = [at for at, flag in enumerate(room.disturbed(leaving)) if flag]
        movers, position = room.moves, 0
        while unsure and room.moves == movers:
            at = unsure.pop(0)
            room.keep(leaving[position:at])
            if not room.place(leaving[at]):
                room.leave(leaving[at])
            position = at + 1
        if room.moves == movers:
            room.keep(leaving[position:])
            return
        leaving = leaving[position:]
