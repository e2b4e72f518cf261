"""Files of runs: the workload and the log, from which everything else in a run follows."""

from __future__ import annotations

import dataclasses
from typing import NoReturn

from mlsched.api.saved_fields import Fields
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.record import Record, without_defaults_of
from mlsched.simulation import Run, every_simulation, simulation
from mlsched.simulation.clock import Decision, Rule
from mlsched.simulation.wake import Wake


def document(run: Run) -> Data:
    """Return the content of a run's file without kind and version."""
    return {
        "problem": run.simulation.problem,
        "simulator": run.simulation.simulator,
        "solver": run.solver,
        "params": run.params,
        "options": without_defaults_of(run.options, dataclasses.asdict(run.options)),
        "scheduling_events": str(run.scheduling_events),
        "seed": run.seed,
        "decisions": run.decisions,
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "versions": run.versions,
        "recorded": [
            {"number": d.number, "time": d.time, "instance": d.instance.to_json(), "plan": d.plan.to_json()}
            for d in run.recorded
        ],
        "workload": run.workload.to_json(),
        "log": run.log.to_json(),
    }


def read(fields: Fields) -> Run:
    """Return the Run in the fields of a file; its log must pass the simulator's replay."""
    problem, simulator = fields.text("problem"), fields.text("simulator")
    world = simulation(problem, simulator or None)
    kinds: dict[str, type[Record]] = {s.workload_type.kind: s.workload_type for s in every_simulation()}
    workload = fields.record("workload", kinds)
    if type(workload) is not world.workload_type:
        raise InvalidInput(
            f"workload: is {with_article(workload.kind)}, expected {with_article(world.workload_type.kind)}"
        )
    options = world.options(fields.mapping("options", int, float, bool, str))
    solver = fields.text("solver")
    if world.as_logged is not None and solver == world.as_logged.name:
        log_type, world = world.as_logged.log_type, world.as_logged.simulation
    else:
        log_type = type(world.world(workload, options).log)
    run = Run(
        simulation=world,
        workload=workload,
        solver=solver,
        params=fields.mapping("params", int, float, bool, str),
        options=options,
        scheduling_events=Wake.parse(fields.text("scheduling_events")),
        seed=fields.integer("seed"),
        log=log_type.from_json(fields.any("log")),
        decisions=fields.integer("decisions"),
        recorded=[_decision(fields, number, entry) for number, entry in enumerate(fields.any("recorded"))],
        seconds=fields.number("seconds", low=0),
        cpu_seconds=fields.number("cpu_seconds", low=0),
        versions=fields.mapping("versions", str),
        rule=Rule(solver, _raise_no_rule),
    )
    try:
        faults = run.violations()
    except (IndexError, KeyError, ValueError, OverflowError, AssertionError) as error:
        # The log names jobs, nodes or times that the workload does not have.
        raise InvalidInput(f"log: is not one of this workload ({type(error).__name__}: {error})") from None
    if faults:
        raise InvalidInput(f"log: does not pass the replay: {faults[0]}")
    return run


def _decision(fields: Fields, number: int, entry_data: object) -> Decision:
    entry = Fields(entry_data, f"recorded[{number}]")
    instance = entry.instance()
    decision = Decision(entry.integer("number"), entry.integer("time"), instance, entry.plan(instance))
    entry.end()
    return decision


def _raise_no_rule(*_: object) -> NoReturn:
    raise InvalidInput("replay: the file of a run contains neither the rule nor its memory; run it again")
