"""Places of units that were chosen, and pauses of those that were not (step 3 of `preemption`).

It is the same for the room of a snapshot (`preemption`) and of a run over a log (`iterations/preempt`): both are a
`Room`.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Room(Protocol):
    """The nodes while a round is made. Units compare by their place in the order; room is taken and given for them."""

    @property
    def moves(self) -> int:
        """The number of running units that have moved so far."""

    def runs(self, unit: Any) -> bool:
        """Return whether a unit ran when the round began."""

    def place(self, unit: Any) -> bool:
        """Start a unit that waits; let one that has released its nodes take them again, or move; False: no room."""

    def behind(self, unit: Any) -> list[Any]:
        """Return the running units behind one (None: all) that hold their nodes."""

    def release(self, units: Sequence[Any]) -> None:
        """Let running units give up their nodes for now."""

    def keep(self, units: Sequence[Any]) -> None:
        """Let running units take their nodes again, which have room."""

    def hold(self, unit: Any) -> bool:
        """Let a running unit take its nodes again, if there is room on all of them."""

    def leave(self, unit: Any) -> None:
        """Pause a running unit that has released its nodes."""

    def disturbed(self, units: Sequence[Any]) -> list[bool]:
        """Return for each unit whether another one has started on nodes that it has released.

        Where none has, what fitted together fits again, in whatever order it comes back.
        """

    def hopeful(self, units: list[Any], failed: Any) -> list[Any]:
        """Return those of some units that may find room though a waiting one before them found none.

        For those after it, fewer others release their nodes, and of what these were some has been taken since.
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
        waiting = sorted(waiting + _back(room, worse))
    settled = not overloaded
    while waiting:
        unit = heapq.heappop(waiting)
        if room.place(unit):
            continue
        worse = room.behind(unit)
        room.release(worse)
        placed = room.place(unit)
        for other in _back(room, worse):
            heapq.heappush(waiting, other)
        if placed:
            continue
        settled = False
        if room.runs(unit):
            room.leave(unit)
        else:
            waiting = room.hopeful(waiting, unit)
            heapq.heapify(waiting)
    if settled:  # all that was chosen has a place, and the others would not fit beside it
        for unit in leaving:
            room.leave(unit)
        return
    done = 0

    def before(unit: Any) -> None:
        nonlocal done
        end = len(leaving) if unit is None else bisect_left(leaving, unit)
        _stay(room, leaving[done:end])
        done = max(done, end)

    room.start_others(before)
    before(None)


def _back(room: Room, units: list[Any]) -> list[Any]:
    """Let units take their nodes again, in their order; return those that cannot."""
    flags = room.disturbed(units)
    room.keep([unit for unit, unsure in zip(units, flags, strict=True) if not unsure])
    return [unit for unit, unsure in zip(units, flags, strict=True) if unsure and not room.hold(unit)]


def _stay(room: Room, leaving: list[Any]) -> None:
    """Let units that have released their nodes take them again, in their order; or move, or pause."""
    while leaving:
        unsure = [at for at, flag in enumerate(room.disturbed(leaving)) if flag]
        moved, done = room.moves, 0
        while unsure and room.moves == moved:
            at = unsure.pop(0)
            room.keep(leaving[done:at])
            if not room.place(leaving[at]):
                room.leave(leaving[at])
            done = at + 1
        if room.moves == moved:
            room.keep(leaving[done:])
            return
        leaving = leaving[done:]
