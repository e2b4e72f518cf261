"""Make a solver's proof quick to check: keep only the necessary lines, and name the antecedents of each `rup` line.

This step is not trusted: its result is a proof in the same format, and `checker.py` decides about it. A solver logs all
learned constraints, most of which its last line does not need, and gives for a clause only that it follows by unit
propagation. Finding the antecedents is the slow part of checking. It is done once, here, from the last line backwards:
each necessary line marks its antecedents. Only necessary `rup` lines are propagated, with marked lines first.
"""

from __future__ import annotations

from collections import deque

from mlsched.certificates.checker import HEADER, Constraint, Proof, Wrong, inequality, lines
from mlsched.core.deadline import Deadline


class _Log(Proof):
    """Reads a log and keeps its lines and constraints, without checking `rup` lines."""

    def __init__(self, formula: str, log: str, deadline: Deadline) -> None:
        super().__init__(formula)
        self.words: list[list[str]] = []
        self.deadline = deadline
        lines(("* " + log).split("\n"), "proof", self._keep_line)

    def _keep_line(self, words: list[str]) -> None:
        self.deadline.check()
        self.words.append(list(words))
        self.step(words)

    def propagate(self, words: list[str]) -> Constraint:
        return inequality(words[: words.index(";")])


def elaborated(formula: str, log: str, deadline: Deadline | None = None) -> str:
    """Return a shorter proof of the formula's claim in `log`, in which every `rup` names its constraints.

    Raises:
        Wrong: The log is not a proof.
        OutOfTime: At the deadline.
    """
    deadline = deadline or Deadline()
    read = _Log(formula, log, deadline)
    if not read.ended:
        raise Wrong("proof: has no end (rule c)")
    last = max((i for i, words in enumerate(read.words) if words[0] == "soli"), default=None)
    hints: dict[int, list[int]] = {}
    needed = _Needed(read.derived)
    for i in [int(read.words[-1][1]) - 1] + ([last] if last is not None else []):
        needed.marked[i] = True
    for i in range(len(read.words) - 2, -1, -1):
        needed.remove_last(i)
        if not needed.marked[i]:
            continue
        deadline.check()
        words = read.words[i]
        if words[0] == "pol":
            antecedents = [
                int(w) - 1 for w, after in zip(words[1:], [*words[2:], ""], strict=True) if _is_place(w, after)
            ]
        elif words[0] == "rup":
            antecedents = hints[i] = needed.find_antecedents(i)
        else:
            antecedents = []
        for j in antecedents:
            needed.marked[j] = True
    return _marked_lines(read.words, needed.marked, hints)


def _is_place(word: str, after: str) -> bool:
    return word.isdigit() and after not in ("*", "d")


def _marked_lines(words: list[list[str]], marked: list[bool], hints: dict[int, list[int]]) -> str:
    """Return the marked lines, renumbered."""
    place: dict[int, str] = {}
    proof = [HEADER]
    for i, line in enumerate(words[:-1]):
        if not marked[i]:
            continue
        if line[0] == "pol":
            pairs = zip(line[1:], [*line[2:], ""], strict=True)
            line = ["pol", *(place[int(w) - 1] if _is_place(w, after) else w for w, after in pairs)]
        elif line[0] == "rup":
            line = [*line[: line.index(";") + 1], *("~" if j == i else place[j] for j in hints[i])]
        place[i] = str(len(place) + 1)
        proof.append(" ".join(line))
    proof.append(f"c {place[int(words[-1][1]) - 1]}")
    return "\n".join(proof) + "\n"


class _Needed:
    """Unit propagation over the constraints before a line, with slacks kept for every constraint."""

    def __init__(self, constraints: list[Constraint]) -> None:
        self.constraints = constraints
        self.marked = [False] * len(constraints)
        variables = max((max(terms, default=0) for terms, _ in constraints), default=0)
        #: For each literal (index: literal + variables), the constraints whose slack falls if it is false, and the
        #: amount.
        self.offset = variables
        self.uses: list[list[tuple[int, int]]] = [[] for _ in range(2 * variables + 1)]
        self.slack: list[int] = []
        self.largest: list[int] = []
        for i, (terms, bound) in enumerate(constraints):
            self._add_constraint(i, terms, bound)
        self.units = [i for i in range(len(constraints)) if self.slack[i] < self.largest[i]]

    def _add_constraint(self, i: int, terms: dict[int, int], bound: int) -> None:
        for x, c in terms.items():
            if c:
                self.uses[(x if c > 0 else -x) + self.offset].append((i, abs(c)))
        self.slack.append(sum(c for c in terms.values() if c > 0) - bound)
        self.largest.append(max(map(abs, terms.values()), default=0))

    def remove_last(self, i: int) -> None:
        """Remove constraint i, the last one."""
        for x, c in self.constraints[i][0].items():
            if c:
                self.uses[(x if c > 0 else -x) + self.offset].pop()
        self.slack.pop()
        self.largest.pop()
        if self.units and self.units[-1] == i:
            self.units.pop()

    def find_antecedents(self, i: int) -> list[int]:
        """Return constraints before i that contradict the negation of constraint i (named i) by propagation."""
        terms, bound = self.constraints[i]
        negation = {x: -c for x, c in terms.items()}, 1 - bound
        original, self.constraints[i] = self.constraints[i], negation
        self._add_constraint(i, *negation)
        #: Literal that is true -> its place in the trail.
        places: dict[int, int] = {}
        trail: list[tuple[int, int]] = []
        try:
            conflict = self._propagate(i, places, trail)
            return self._collect_reasons(conflict, places, trail)
        finally:
            offset, slack = self.offset, self.slack
            for x, _ in trail[: self._done]:
                for j, c in self.uses[offset - x]:
                    slack[j] += c
            self.remove_last(i)
            self.constraints[i] = original

    def _propagate(self, i: int, places: dict[int, int], trail: list[tuple[int, int]]) -> int:
        """Propagate to the end, marked constraints first, and return the violated constraint."""
        marked, slack, largest, constraints = self.marked, self.slack, self.largest, self.constraints
        uses, offset = self.uses, self.offset
        first = deque([i, *(j for j in self.units if marked[j])])
        second = deque(j for j in self.units if not marked[j])
        self._done = 0
        while first or second:
            j = first.popleft() if first else second.popleft()
            room = slack[j]
            if room < 0:
                return j
            if room >= largest[j]:
                continue
            for x, c in constraints[j][0].items():
                if (c > room or -c > room) and x not in places and -x not in places:
                    literal = x if c > 0 else -x
                    places[literal] = len(trail)
                    trail.append((literal, j))
            while self._done < len(trail):
                literal = trail[self._done][0]
                self._done += 1
                clash = -1
                for k, c in uses[offset - literal]:
                    slack[k] -= c
                    if slack[k] < largest[k]:
                        if slack[k] < 0:
                            clash = k
                        (first if marked[k] or k == i else second).append(k)
                if clash >= 0:
                    return clash
        raise Wrong(f"proof: constraint {i + 1} does not follow by unit propagation")

    def _collect_reasons(self, conflict: int, places: dict[int, int], trail: list[tuple[int, int]]) -> list[int]:
        """Return the constraints that lead to the contradiction, in order."""
        needed_literals: set[int] = set()
        self._add_antecedents(conflict, 0, len(trail), places, needed_literals)
        antecedents = [conflict]
        for place in range(len(trail) - 1, -1, -1):
            literal, j = trail[place]
            if literal in needed_literals:
                c = self.constraints[j][0][abs(literal)]
                self._add_antecedents(j, abs(c), place, places, needed_literals)
                if antecedents[-1] != j:
                    antecedents.append(j)
        return antecedents[::-1]

    def _add_antecedents(self, j: int, c: int, before: int, places: dict[int, int], needed_literals: set[int]) -> None:
        """Add true literals, earlier than `before`, that bring the slack of constraint j below c."""
        terms, bound = self.constraints[j]
        room = sum(c for c in terms.values() if c > 0) - bound
        candidates = []
        for x, d in terms.items():
            against = -x if d > 0 else x
            if places.get(against, before) < before:
                if against in needed_literals:
                    room -= abs(d)
                else:
                    candidates.append((abs(d), against))
        for d, against in sorted(candidates, reverse=True):
            if room < c:
                return
            room -= d
            needed_literals.add(against)
