"""Random evictions under Kueue's fair sharing compared with all victim sets allowed in some order.

    python measurements/fair_evictions.py [--evictions 2000] [--seed 1]

Draws flat and hierarchical cohorts with weights, runs Kueue's strategies, and enumerates the candidates' subsets.
Prints how many evictions are dominated in (highest priority, victims, amount), how many sets are kept by the put-back
step although no order allows them, and how often nobody is evicted although a set is allowed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections import Counter
from fractions import Fraction

from mlsched_admission.instances.systems.kueue import fair
from mlsched_admission.instances.systems.kueue.allowed import Allowed
from mlsched_admission.instances.systems.kueue.snapshot import Config, Queue, Snapshot, Workload
from mlsched_admission.instances.systems.kueue.topology import Forest
from mlsched_admission.instances.systems.kueue.tree import Node

FR = ("f", "cpu")


def draw(rng: random.Random) -> tuple[Snapshot, Workload, int]:
    """Return a state with up to nine running workloads, one that waits, and its amount."""
    deep = rng.random() < 0.5
    names = ["root", *(["left", "right"] if deep else [])]
    cohorts = {name: Node(name, False, weight=Fraction(rng.choice([1, 1, 2, 3]))) for name in names}
    queues: dict[str, Queue] = {}
    for name in ("a", "b", "c", "d")[: rng.randint(2, 4)]:
        node = Node(name, True, {FR: rng.choice([0, 2, 3, 4])}, weight=Fraction(rng.choice([0, 1, 1, 1, 2])))
        queues[name] = Queue(name, node, within="LowerPriority", reclaim=rng.choice(["Any", "Any", "LowerPriority"]))
        node.parent = cohorts[rng.choice(names)]
    for name in names[1:]:
        cohorts[name].parent = cohorts["root"]
    for node in [*cohorts.values(), *(queue.node for queue in queues.values())]:
        if node.parent is not None:
            node.parent.children.append(node)
    strategies = rng.choice([(fair.FINAL, fair.INITIAL), (fair.FINAL, fair.INITIAL), (fair.FINAL,), (fair.INITIAL,)])
    config = Config(fair=True, strategies=strategies)
    snapshot = Snapshot(config, queues, cohorts, {}, {}, {}, Forest({}, {}, {}, {}))
    for number in range(rng.randint(3, 9)):
        queue = queues[rng.choice(list(queues))]
        amount = rng.choice([1, 1, 2, 3])
        if amount > queue.node.available(FR):
            continue
        one = Workload(f"w{number}", f"w{number}", queue.name, rng.choice([0, 0, 1, 2]), number, usage={FR: amount})
        one.reserved = number
        snapshot.running[one.name] = one
        snapshot.restore_workload(one)
    waits = Workload("waits", "waits", "a", rng.choice([0, 1, 2]), 99)
    snapshot.waiting["waits"] = waits
    return snapshot, waits, rng.choice([1, 2, 3, 4])


def cost(victims: tuple[Workload, ...] | list[Workload]) -> tuple[int, int, int]:
    """Return (highest priority, victims, amount); the lowest for nobody."""
    highest = max((one.priority for one in victims), default=-1)
    return highest, len(victims), sum(one.usage[FR] for one in victims)


def better(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    """Return whether cost a dominates cost b."""
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


def measure(wanted: int, seed: int) -> dict[str, float]:
    """Return the counts over the first `wanted` evictions."""
    rng, found = random.Random(seed), Counter[str]()
    started = time.process_time()
    while found["evictions"] < wanted:
        snapshot, waits, amount = draw(rng)
        queue = snapshot.queues["a"]
        if amount <= queue.node.available(FR) or amount > queue.node.potential(FR):
            continue
        contested = frozenset({FR})
        made = fair.fair_victims(snapshot, waits, queue, {FR: amount}, contested, lambda: True)
        allowed = Allowed(snapshot, waits, {FR: amount}, contested, [])
        line = allowed.candidates
        subsets = itertools.chain.from_iterable(itertools.combinations(line, n) for n in range(1, len(line) + 1))
        if not made:
            found["nobody"] += 1
            found["nobody although allowed"] += any(not allowed.why_forbidden(chosen) for chosen in subsets)
            continue
        found["evictions"] += 1
        found["kept by the put-back step"] += bool(allowed.why_forbidden(made))
        mine = cost(made)
        sets = [cost(chosen) for chosen in subsets if better(cost(chosen), mine) and not allowed.why_forbidden(chosen)]
        found["dominated"] += bool(sets)
        found["fewer victims"] += any(n < mine[1] for _, n, _ in sets)
    result: dict[str, float] = dict(found)
    result["dominated share"] = found["dominated"] / found["evictions"]
    result["cpu_s"] = round(time.process_time() - started, 1)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evictions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    print(json.dumps(measure(a.evictions, a.seed), indent=1))
