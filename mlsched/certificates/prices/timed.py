"""Claims about what happens when: events that start at some tick, and what they use of rows that are ticks.

A block is an *event*. An option is the tick at which it starts, within its window; what never happens starts after all
rows. A row is named "GROUP A B", for any ticks A < B of a group. Say that elapsed(t) is how many ticks from A to B are
over at t: an event that starts at t uses weight * elapsed(t + shift) of the row, added up over its terms of the group;
the capacity is the group's room * (B - A). Two kinds of rows are made of that:

    v waits for u, for `length` ticks: room 0, the terms (length, 1) of u and (0, -1) of v, since elapsed never falls;
    what is held for `length` ticks: the terms (length, amount) and (0, -amount) of each who holds, and what there is.

A *sum* is a single row of a group without a room, with a capacity of its own: "GROUP 0 END" limits the sum of
weight * (t + shift), and "GROUP 0 1" with the shift -due the sum of the weights of what starts after its due tick.

So the price of what an event uses is linear in its start, but where a row, moved by a shift, begins or ends: it is
least at one of these ticks or an end of the window. However many ticks there are, only these are looked at.
"""

import re
from collections import Counter
from typing import Any, NamedTuple

from mlsched.certificates.prices.core import NEVER, SCALE, Price, Sides, Spend, Use, Wrong

END, LATEST = 2**62, 2**60  # after all ticks; and what waits for what never happens, before END, is after all rows
ROW = re.compile("([^ ]+) ([0-9]{1,18}) ([0-9]{1,18})")


class Rows(dict[str, int]):
    """Row -> capacity: those of `sums`, and rows of any ticks of the groups that have a `room`, that of a tick."""

    def __init__(self, room: dict[str, int], sums: dict[str, int]) -> None:
        super().__init__(sums)
        self.room = room

    def __contains__(self, row: object) -> bool:
        found = ROW.fullmatch(str(row))
        return super().__contains__(row) or bool(found and found[1] in self.room and int(found[2]) < int(found[3]))

    def __missing__(self, row: str) -> int:
        group, start, end = row.split(" ")
        return self.room[group] * (int(end) - int(start))


class Event(NamedTuple):
    """It starts from `low` to `high` and costs `rate` a tick, less `gain` until `due`; terms: group, shift, weight."""

    low: int
    high: int
    rate: int
    gain: int
    due: int
    terms: list[tuple[str, int, int]]


class Timed:
    """No starts of the events that keep to the rooms cost less than `target`."""

    def __init__(self, target: int, capacity: Rows, events: list[Event], spend: Spend) -> None:
        self.target, self.capacity, self.events, self.blocks, self.spend = target, capacity, events, len(events), spend
        if max((event.low for event in events), default=0) >= LATEST:
            raise Wrong("an event cannot start before 2^60; use longer ticks")
        self.turns: tuple[Any, dict[str, Counter[int]]] = (None, {})

    def least(self, block: int, price: Price, sides: Sides) -> int:
        if self.turns[0] is not price:  # of each group: tick -> by how much the price of a tick is another from there
            self.turns = price, {}
            for row, p in price.items():
                group, start, end = row.split(" ")
                self.turns[1].setdefault(group, Counter()).update({int(start): p})
                self.turns[1][group].update({int(end): -p})
        event = self.events[block]
        slopes = Counter(dict.fromkeys((event.low, event.high, event.due, event.due + 1), 0))
        for group, shift, weight in event.terms:
            turns = self.turns[1].get(group, Counter())
            self.spend(1 + len(turns))
            for t, change in turns.items():
                slopes[t - shift] += weight * change
        least, paid, slope, before = NEVER, 0, 0, 0
        for t in sorted(slopes):
            paid, slope, before = paid + slope * (t - before), slope + slopes[t], t
            if event.low <= t <= event.high:
                least = min(least, SCALE * (event.rate * t - event.gain * (t <= event.due)) + paid)
        return least

    def cheap(self, block: int, price: Price, sides: Sides, most: int) -> list[tuple[int, Use]]:
        raise Wrong("the prices fall short of it, and starts are too many to go through")
