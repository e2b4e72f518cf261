"""The division of a cluster among queues (rule A3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlsched_admission.instances.systems.kai.model import ACTIVE, GPU, PENDING, ZERO, Queue, Session, sum_of_vectors

#: The unit of each resource that a share is rounded down to.
UNITS = (1, 1, GPU)


def divide_fairly(session: Session) -> None:
    """Give every queue its fair share: the roots of the total, children of their parent's share."""
    for queue in session.queues.values():
        queue.requested = ZERO
    for job in session.jobs.values():
        amounts = session.requested_amounts(pod for pod in job.pods if pod.status in ACTIVE or pod.status == PENDING)
        for queue in session.path_to_root(job.queue):
            queue.requested = sum_of_vectors(queue.requested, amounts)
    roots = [queue for queue in session.queues.values() if queue.parent not in session.queues]
    pending = [(roots, session.total)]
    while pending:
        queues, total = pending.pop()
        shares = [_shares_of_queues(queues, total[r], r) for r in range(3)]
        for n, queue in enumerate(queues):
            queue.fair = (shares[0][n], shares[1][n], shares[2][n])
            children = [session.queues[name] for name in queue.children]
            if children:
                pending.append((children, queue.fair))


def _shares_of_queues(queues: Sequence[Queue], total: int, r: int) -> list[int]:
    """Return the share of each queue of one resource."""
    unit = UNITS[r]
    demand = [queue.requested[r] if queue.limit[r] < 0 else min(queue.limit[r], queue.requested[r]) for queue in queues]
    shares = [
        min(total if queue.deserved[r] < 0 else queue.deserved[r], want)
        for queue, want in zip(queues, demand, strict=True)
    ]
    remaining = total - sum(shares)
    if remaining <= 0:
        return shares
    remainders = [0.0] * len(queues)
    for priority in sorted({queue.priority for queue in queues}, reverse=True):
        among = [n for n, queue in enumerate(queues) if queue.priority == priority and queue.weight[r] > 0]
        again = True
        while again and remaining > 0:
            again, distributed = False, remaining
            hungry = [n for n in among if demand[n] > shares[n]]
            weights = sum(queues[n].weight[r] for n in hungry)
            for n in hungry:
                offer = distributed * queues[n].weight[r] / weights
                want = demand[n] - shares[n]
                if want <= offer:
                    more = want
                    again = again or want < offer
                    remainders[n] = 0.0
                else:
                    more = math.floor(offer / unit + 1e-9) * unit
                    remainders[n] = offer - more
                shares[n] += more
                remaining -= more
    line = sorted(
        range(len(queues)), key=lambda n: (-queues[n].priority, -remainders[n], queues[n].created, queues[n].name)
    )
    for n in line:
        if remaining <= 0:
            break
        if queues[n].weight[r] > 0 and demand[n] > shares[n]:
            more = min(unit, demand[n] - shares[n], remaining)
            shares[n] += more
            remaining -= more
    return shares
