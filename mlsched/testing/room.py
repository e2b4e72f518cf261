"""What a run that is stuck says of a scheduler: whether it would serve every job if only there were room.

A rule may leave jobs waiting that the cluster could serve: one that never splits a job over nodes waits for a node that
holds it whole, one that gives all jobs equal shares gives nobody anything where a share would be nothing. Where such
jobs wait for ever, the run is stuck, and that is the rule's choice and no mistake. So a rule that is stuck is asked
again about the same jobs in a cluster in which every node has room for all of them at once. What is stuck there as well
leaves jobs out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlsched.core.errors import Stuck
from mlsched.simulation.clock import run
from mlsched.simulation.run import Simulation
from mlsched.simulation.wake import Wake
from mlsched.testing.subject import Subject


def served_with_room(
    tested: Subject,
    simulation: Simulation,
    workload: Any,
    options: Mapping[str, Any],
    scheduling_events: Wake,
    seed: int = 0,
) -> bool:
    """Whether a run of the same jobs comes to its end where every node has room for all of them."""
    if simulation.drawn is None or simulation.drawn.roomy is None:
        return False
    world = simulation.world(simulation.drawn.roomy(workload), simulation.options(options))
    try:
        run(
            world,
            tested.rule(),
            scheduling_events=scheduling_events,
            seed=seed,
            unit=simulation.parts_of_second(workload),
        )
    except Stuck:
        return False
    return True
