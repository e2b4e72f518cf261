"""A search program proposes rules, mlsched judges them: isolated, on held-out instances, with the bound as the end.

The program here evolves a small formula. It stands for any black box that writes Python, a language model among them:
mlsched sees nothing but the text of a module, runs it in a process of its own with limits on time and memory, and
judges the plans that come back. The search gets the gaps of the training instances. It ends when the gap to the proven
optima is small, since no rule can do better than they, or when several rounds have brought nothing. Only then is the
winner asked about instances that the search has never seen: its gap there is the one to report, and with few training
instances it is several times the gap that the search has reached.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import mlsched

PRESET, TRAINING, HELD_OUT = "surge", range(8), range(1000, 1020)
ROUNDS, PROPOSALS, PATIENCE, GOOD_ENOUGH = 6, 6, 3, 0.05
#: What a proposal is: a whole module. The search fills in how dear it is to suspend a job; the cheapest go first.
MODULE = """
import numpy as np

def rule(instance, *, rng):
    share = (instance.job_demand / instance.node_capacity[instance.job_node].clip(1)).max(axis=1)
    grace, size = instance.job_grace / max(1, instance.max_grace), share / max(1e-9, share.max())
    before, crowd = instance.job_preemptions + 1.0, 1.0 / np.bincount(instance.job_node)[instance.job_node]
    price = np.broadcast_to({price}, grace.shape)
    room, te_node, victims = instance.node_free + instance.node_draining, [], []
    for demand in instance.te_demand:
        offers = []
        for node in range(len(room)):
            free, chosen, paid = room[node].copy(), [], 0.0
            able = [j for j in np.flatnonzero((instance.job_node == node) & instance.preemptible) if j not in victims]
            for job in sorted(able, key=lambda j: price[j]):
                if (free >= demand).all():
                    break
                free, chosen, paid = free + instance.job_demand[job], [*chosen, int(job)], paid + price[job]
            if (free >= demand).all():
                offers.append((paid, node, free, chosen))
        te_node.append(-1)
        if offers:
            _, node, free, chosen = min(offers, key=lambda offer: offer[:2])
            te_node[-1], room[node], victims = node, free - demand, victims + chosen
    return instance.plan_type(te_node=te_node, victims=sorted(victims))
"""
LEAVES = ("grace", "size", "before", "crowd", "1.0", "4.0")


def formula(random, depth=2):
    """A formula, drawn at random."""
    if depth == 0 or random.random() < 0.3:
        return str(random.choice(LEAVES))
    left, right = formula(random, depth - 1), formula(random, depth - 1)
    return str(random.choice([f"({left} + {right})", f"({left} * {right})", f"np.maximum({left}, {right})"]))


def changed(random, price):
    """A neighbour of a formula: a leaf exchanged, or something added."""
    places = [leaf for leaf in LEAVES if leaf in price]
    if places and random.random() < 0.5:
        return price.replace(str(random.choice(places)), formula(random, 1), 1)
    return str(random.choice([f"({price} + {formula(random, 1)})", f"({price} * {formula(random, 1)})"]))


def judged(name, questions):
    """The gaps of a rule, worst kind first: (answers without a percentage, mean gap). A broken rule is last."""
    gaps = []
    for instance, best in questions:
        try:
            result = mlsched.solve(instance, name, isolate=True, time_limit=2.0, memory_limit=2**29)
        except mlsched.MlschedError as error:  # it crashed, hung, cheated, or its plan is infeasible
            print("  refused:", str(error)[:100])
            return len(questions) + 1, float("inf")
        gaps.append(result.gap_to(best))
    apart = sum(gap.share is None for gap in gaps)
    return apart, float(np.mean([gap.share for gap in gaps if gap.share is not None] or [np.inf]))


def questions_of(seeds):
    """Instances with their proven optima."""
    drawn = [mlsched.generate("preemption", PRESET, seed=seed) for seed in seeds]
    return [(instance, mlsched.solve(instance, "cp-sat")) for instance in drawn]


def main():
    random = np.random.default_rng(0)
    training = questions_of(TRAINING)
    with tempfile.TemporaryDirectory() as folder:
        sys.path.append(folder)
        price, score, idle, asked = "1.0", None, 0, 0
        for number in range(ROUNDS):
            proposals = [price] * (score is None) + [changed(random, price) for _ in range(PROPOSALS)]
            idle += 1
            for proposal in proposals:
                asked += 1
                Path(folder, f"proposal_{asked}.py").write_text(MODULE.replace("{price}", proposal))
                found = judged(f"proposal_{asked}:rule", training)
                if score is None or found < score:
                    price, score, idle, winner = proposal, found, 0, f"proposal_{asked}:rule"
            print(f"round {number}: {score[0]} worse kind, mean gap {score[1]:.1%}: {price}")
            if score[0] == 0 and score[1] <= GOOD_ENOUGH:
                print(f"within {GOOD_ENOUGH:.0%} of the optima: no rule can be more than that better")
                break
            if idle == PATIENCE:
                print("nothing better for", PATIENCE, "rounds")
                break
        held_out = questions_of(HELD_OUT)
        for name in (winner, "fitgpp"):
            apart, mean = judged(name, held_out)
            print(f"held out, {len(held_out)} instances: {name}: mean gap {mean:.1%}, {apart} without a percentage")


if __name__ == "__main__":
    main()
