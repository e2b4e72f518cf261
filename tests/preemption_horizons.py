"""What tests of preemption over time share: small horizons, and what a run's log says of a horizon's objectives."""

from hypothesis import strategies as st

from mlsched.simulation.preemption import outcome, strategies
from mlsched.simulation.preemption.rollout import horizon_of, workload_of

EITHER = st.integers(0, 1)


def horizons(*, nodes=2, jobs=7, resources=2, eager=EITHER):
    """Horizons of the world's own workloads: full nodes, exact fits, ties in time, victims without grace period."""
    readings = st.fixed_dictionaries(
        {
            "tick": st.sampled_from([1, 7, 60]),
            "preemption_limit": st.sampled_from([0, 1, 1, 2]),
            "during_grace": st.sampled_from(["work", "paused"]),
            "snapshot": st.sampled_from([1, 60, 180]),
            "eager": eager,
        }
    )
    workloads = strategies.workloads(nodes=nodes, jobs=jobs, resources=resources)
    return st.builds(lambda workload, given: horizon_of(workload, **given), workloads, readings)


def values_of(horizon, log):
    """The horizon's objectives as the simulated world's own tables have them."""
    table = outcome.jobs(workload_of(horizon), log)
    waited = 10**6 * table["wait"] // table["execution"] + 10**6
    _, intervals = outcome.resumptions(log)
    return {
        "total_rescheduling": int(intervals.sum()),
        "total_te_slowdown": int(waited[table["te"] == 1].sum()),
        "total_be_slowdown": int(waited[table["te"] == 0].sum()),
        "victim_count": int(table["preemptions"].sum()),
    }
