"""Result of `judge`: the state as read, the verdict on the decision, and the changes that would start the jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from mlsched.core import html
from mlsched.core.aliases import Data
from mlsched.core.brief import count_of, short_repr
from mlsched_admission.instances import Instance
from mlsched_admission.instances.systems.permits import Permit
from mlsched_admission.solvers.verdicts import Needs, Point, Verdict


@dataclasses.dataclass(frozen=True)
class CycleRow:
    """One waiting job in a cycle: its outcome, the reason, its victims, and the verdict on them ("" without evictions).

    Attributes:
        later: Outcome after the queues have been walked, for jobs that are behind others in this cycle.
    """

    job: str
    outcome: str
    why: str = ""
    evicts: tuple[str, ...] = ()
    verdict: str = ""
    sentence: str = ""
    later: str = ""


@dataclasses.dataclass(frozen=True)
class Judgement:
    """The state as read, the assumptions, and the verdict on a decision.

    Attributes:
        decision: Origin of the decision, in words; None without a decision: only the front of `verdict` then counts.
        read, assumed: Lines for people.
        unmodelled: Job -> features that the instance lacks and that could change the verdict.
        why: Reason why the job waits, in a line with numbers.
        cycle: Outcome of every waiting job in a complete cycle of the scheduler's own program; None if single jobs were
            named.
        counted: Resource that measures lost work, GPU or CPU.
        permits: Single changes with which the scheduler's own program would evict units for the job, if it evicts none
            now.
    """

    instance: Instance
    verdict: Verdict
    needs: Needs
    decision: str | None = None
    system: str = ""
    read: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    unmodelled: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    why: str = ""
    cycle: tuple[CycleRow, ...] | None = None
    counted: str = "GPU"
    permits: tuple[Permit, ...] = ()

    def __repr__(self) -> str:
        outcome = f"{self.decision}: {self.verdict.sentence}" if self.decision else None
        return short_repr(self, self.system, outcome, count_of(len(self.verdict.front), "optimal plan"))

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks: the verdict, the needed changes, and the plans on the front."""
        changes = [change.sentence for change in self.needs.changes]
        takes = "it starts now" if self.needs.starts_now else "; ".join(changes) or self.needs.cannot
        rows = [["decision", self.decision], ["verdict", self.verdict.sentence if self.decision else None]]
        summary = html.html_table(["", ""], [*rows, ["without eviction, it takes", takes]])
        points = [[point.values[name] for name in self.verdict.objectives] for point in self.verdict.front]
        front = html.html_table(self.verdict.objectives, points, most=html.MAX_ROWS)
        return html.titled_block(
            "judgement", [self.system], summary, html.collapsible("plans that no other is better than", front)
        )

    @property
    def accepted(self) -> bool:
        """Return whether the decision is correct: it is on the front, or missing."""
        fine = self.decision is None or self.verdict.kind in ("on the front", "unknown")
        return fine and all(row.verdict in ("", "on the front", "unknown") for row in self.cycle or ())

    def to_json(self) -> Data:
        """Return everything as plain JSON data; units, jobs and nodes by name."""
        return {
            "instance_hash": self.instance.hash,
            "system": self.system,
            "read": list(self.read),
            "assumed": list(self.assumed),
            "not_modelled": {job: list(lines) for job, lines in self.unmodelled.items()},
            "jobs": names_of(self.instance.job_names, range(len(self.instance.job_priority))),
            "decision": None if self.decision is None else _decision_json(self),
            "accepted": self.accepted,
            "verdict": None if self.decision is None else _verdict_json(self),
            "objectives": list(self.verdict.objectives),
            "front": [_point_json(self.instance, point) for point in self.verdict.front],
            "front_complete": self.verdict.complete,
            "needs": _needs_json(self),
            "permits": [{"change": one.sentence, "evicts": list(one.evicts)} for one in self.permits],
            "why_it_waits": self.why,
            "lost_counts": self.counted,
            "cycle": None if self.cycle is None else [dataclasses.asdict(row) for row in self.cycle],
        }


def names_of(names: Sequence[str], numbers: Iterable[int]) -> list[str]:
    """Return the names of these numbers, or the numbers if names are missing."""
    return [names[n] if names else str(n) for n in numbers]


def _decision_json(one: Judgement) -> Data:
    return {
        "by": one.decision,
        "evict": names_of(one.instance.unit_names, one.verdict.evict),
        "start": names_of(one.instance.job_names, one.verdict.jobs),
        "values": dict(one.verdict.values),
    }


def _verdict_json(one: Judgement) -> Data:
    verdict, instance = one.verdict, one.instance
    return {
        "kind": verdict.kind,
        "sentence": verdict.sentence,
        "ineligible": [
            {"unit": names_of(instance.unit_names, [unit])[0], "why": sentence} for unit, sentence in verdict.ineligible
        ],
        "needless": names_of(instance.unit_names, verdict.needless),
        "starts": verdict.starts,
        "witness": None if verdict.witness is None else _point_json(instance, verdict.witness),
        "proof": verdict.proof,
        "evidence": verdict.evidence,
    }


def _point_json(instance: Instance, point: Point) -> Data:
    plan = point.plan
    return {
        "values": dict(point.values),
        "evict": names_of(instance.unit_names, plan.evict.nonzero()[0].tolist()),
        "move": names_of(instance.unit_names, instance.moved(plan.move)),
        "start": names_of(instance.job_names, plan.start.nonzero()[0].tolist()),
        "plan": plan.to_json(),
    }


def _needs_json(one: Judgement) -> Data:
    needs, instance = one.needs, one.instance
    return {
        "starts_now": needs.starts_now,
        "cannot": needs.cannot,
        "complete": needs.complete,
        "proof": needs.proof,
        "changes": [
            {
                "sentence": change.sentence,
                "nodes": {names_of(instance.node_names, [n])[0]: count for n, count in change.nodes.items()},
                "moves": names_of(instance.unit_names, change.moves),
                "quota": [
                    {
                        "queue": names_of(instance.queue_names, [queue])[0],
                        "flavor": names_of(instance.flavor_names, [flavor])[0],
                        "more": more,
                    }
                    for (queue, flavor), more in change.quota.items()
                ],
                "limits": {names_of(instance.limit_names, [row])[0]: more for row, more in change.limits.items()},
                "fewer_pods": change.fewer_pods,
                "wait_s": change.wait,
                "ended": names_of(instance.unit_names, change.ended),
            }
            for change in needs.changes
        ],
    }
