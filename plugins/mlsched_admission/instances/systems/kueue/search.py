"""The search for domains of one unit (rules T2 to T5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from mlsched_admission.instances.systems.kueue.requests import Placed, Unit, Values, constraint


@dataclass(eq=False)
class Domain:
    """A domain with the counts of phase 1: pods, slices, and both if the leader's pod is here too."""

    values: Values
    children: list[Domain] = field(default_factory=list)
    pods: int = 0
    slices: int = 0
    pods_led: int = 0
    slices_led: int = 0
    leader: int = 0


class Search:
    """One placement of one unit."""

    def __init__(
        self,
        unit: Unit,
        levels: list[str],
        leaves: Iterable[Values],
        able: Mapping[str, Collection[Values]],
        fitting: Callable[[Values, Mapping[str, int], Mapping[str, int]], int],
    ) -> None:
        """able: podset -> lowest domains that it may use. fitting: pods that fit in one beside further requests."""
        self.unit, self.levels, self.leaves, self.able, self.fitting = unit, levels, leaves, able, fitting
        self.workers = max(unit.members, key=lambda one: unit.counts[one.name])
        leaders = [one for one in unit.members if one is not self.workers]
        self.leader = leaders[0] if leaders and unit.counts[leaders[0].name] else None
        self.asked = constraint(self.workers.request, self.levels)

    def run(self) -> dict[str, Placed] | None:
        unit, constraint = self.unit, self.asked
        if constraint is None:
            return None
        total = unit.counts[self.workers.name]
        if total % constraint.slice_size:
            return None
        if not total:
            return {one.name: [] for one in unit.members}
        tops = self._count_domains()
        leaders = 1 if self.leader else 0
        choice = self._best_level(tops, constraint.level, total // constraint.slice_size, leaders)
        if choice is None:
            return None
        level, domains = choice
        current = self._take_domains(domains, total, leaders, constraint.slice_size)
        while level < len(self.levels) - 1:
            if level < constraint.slice_level:
                lower = [child for domain in current for child in domain.children]
                current = self._take_domains(self._sort_domains(lower, leaders), total, leaders, constraint.slice_size)
            else:
                parts = []
                for domain in current:
                    lower = self._sort_domains(domain.children, domain.leader)
                    parts += self._take_domains(lower, domain.pods, domain.leader, 1)
                current = parts
            level += 1
        placed = {self.workers.name: [(domain.values, domain.pods) for domain in current if domain.pods]}
        if self.leader:
            placed[self.leader.name] = [(domain.values, 1) for domain in current if domain.leader][:1]
        for one in unit.members:
            placed.setdefault(one.name, [])
        return {name: sorted(where) for name, where in placed.items()}

    # --- phase 1: pods that fit in each domain (T2) ------------------------------------------------------------------

    def _count_domains(self) -> list[Domain]:
        """Return the domains of the highest level, with counts in all below."""
        able, each = self.able[self.workers.name], self.unit.each[self.workers.name]
        led = self.able[self.leader.name] if self.leader else ()
        first = self.unit.each[self.leader.name] if self.leader else {}
        tops: dict[Values, Domain] = {}
        by_values: dict[Values, Domain] = {}
        for values in sorted(self.leaves):
            for depth in range(1, len(values) + 1):
                key = values[:depth]
                if key not in by_values:
                    by_values[key] = Domain(key)
                    (by_values[key[:-1]].children if depth > 1 else []).append(by_values[key])
                    if depth == 1:
                        tops[key] = by_values[key]
            leaf = by_values[values]
            leaf.pods = leaf.pods_led = self.fitting(values, each, {}) if values in able else 0
            if self.leader and values in led and self.fitting(values, first, {}):
                leaf.leader = 1
                leaf.pods_led = self.fitting(values, each, first) if values in able else 0
            elif self.leader:
                leaf.pods_led = 0
        for top in tops.values():
            self._sum_children(top, 0)
        return [tops[key] for key in sorted(tops)]

    def _sum_children(self, domain: Domain, level: int) -> None:
        """Sum up the children; slices count from the slice level on, inner slices round down."""
        constraint = self.asked
        assert constraint is not None
        if domain.children:
            for child in domain.children:
                self._sum_children(child, level + 1)
            domain.pods = sum(child.pods for child in domain.children)
            domain.slices = sum(child.slices for child in domain.children)
            leading = [child for child in domain.children if child.leader]
            domain.leader = int(bool(leading))
            if leading:
                domain.pods_led = domain.pods - min(child.pods - child.pods_led for child in leading)
                domain.slices_led = domain.slices - min(child.slices - child.slices_led for child in leading)
            elif not self.leader:
                domain.pods_led, domain.slices_led = domain.pods, domain.slices
        if (size := constraint.inner.get(level)) is not None:
            domain.pods, domain.pods_led = domain.pods // size * size, domain.pods_led // size * size
        if level == constraint.slice_level:
            domain.slices = domain.pods // constraint.slice_size
            domain.slices_led = domain.pods_led // constraint.slice_size

    # --- phase 2: which domains (T3 to T5) ---------------------------------------------------------------------------

    def _sort_domains(self, domains: list[Domain], leaders: int) -> list[Domain]:
        """Order domains: more slices first (fewer if least free), then fewer pods, then names (T3)."""
        constraint = self.asked
        assert constraint is not None
        sign = 1 if constraint.least_free else -1
        if leaders:
            return sorted(domains, key=lambda d: (-d.leader, sign * d.slices_led, d.pods_led, d.values))
        return sorted(domains, key=lambda d: (sign * d.slices, d.pods, d.values))

    def _best_level(self, tops: list[Domain], level: int, slices: int, leaders: int) -> tuple[int, list[Domain]] | None:
        """Return the level and its domains with room for all slices (T4)."""
        constraint = self.asked
        assert constraint is not None
        domains = tops
        for _ in range(level):
            domains = [child for domain in domains for child in domain.children]
        line = self._sort_domains(domains, leaders)
        if not line:
            return None
        enough = [d for d in line if self._holds_all(d, slices, leaders)]
        if enough:
            return level, [min(enough, key=lambda d: d.slices_led if leaders else d.slices)]
        if constraint.required:
            return None
        if constraint.climbs and level > 0:
            return self._best_level(tops, level - 1, slices, leaders)
        choice: list[Domain] = []
        if leaders:
            first = next((d for d in line if d.leader), None)
            if first is None:
                return None
            choice, slices = [first], slices - first.slices_led
            line = self._sort_domains([d for d in line if d is not first], 0)
        rest = [d for d in line if d.slices > 0]
        while slices > 0 and rest:
            able = [] if constraint.least_free else [d for d in rest if d.slices >= slices]
            one = min(able, key=lambda d: d.slices) if able else rest[0]
            rest.remove(one)
            choice.append(one)
            slices -= one.slices
        return None if slices > 0 else (level, choice)

    @staticmethod
    def _holds_all(domain: Domain, slices: int, leaders: int) -> bool:
        return (domain.leader > 0 and domain.slices_led >= slices) if leaders else domain.slices >= slices

    def _take_domains(self, domains: list[Domain], pods: int, leaders: int, size: int) -> list[Domain]:
        """Take the fewest domains in order, and fix the pods of each; the last is the smallest sufficient one."""
        constraint = self.asked
        assert constraint is not None
        amount: Callable[[Domain], int] = lambda d: d.slices * size if size > 1 else d.pods  # noqa: E731
        led: Callable[[Domain], int] = lambda d: d.slices_led * size if size > 1 else d.pods_led  # noqa: E731
        choice: list[Domain] = []
        rest = list(domains)
        if leaders:
            able = [d for d in rest if d.leader]
            if not able:
                return []
            enough = [d for d in able if led(d) >= pods]
            first = min(enough, key=led) if enough else able[0]
            rest.remove(first)
            first.pods, first.leader = min(led(first), pods), 1
            pods -= first.pods
            choice.append(first)
            rest = self._sort_domains(rest, 0)
        while pods > 0 and rest:
            one = rest[0]
            if amount(one) >= pods and not constraint.least_free:
                one = min((d for d in rest if amount(d) >= pods), key=amount)
            rest.remove(one)
            one.leader = 0
            if not amount(one):
                continue
            one.pods = min(amount(one), pods)
            pods -= one.pods
            choice.append(one)
        return choice
