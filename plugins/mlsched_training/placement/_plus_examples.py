"""Small questions with their exact answers, and the steps that lead there.

The questions use the fitted speed model. Half of them change its coefficients at random, so that the network learns to
weigh slowdowns instead of memorising types. Any order of placing the parts of an answer is right: every step lists all
of its candidates that lead there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from mlsched import solvers
from mlsched.core.aliases import Array
from mlsched.core.files import atomic_write
from mlsched.core.formulation import Limits
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.instances.placement import Instance, Plan, generate
from mlsched.learned.placement.plus_net import View
from mlsched.learned.placement.plus_speeds import ALONE, PAIRS, Speeds
from mlsched.learned.placement.plus_state import Question, States
from mlsched.learned.weights import Floats

#: Spread of the changed coefficients: each is multiplied by exp of a normal variable of this deviation.
SPREAD = 0.5
#: Deterministic work and moves of the search for a start that an exact answer may take.
WORK, MOVES = 0.1, 200


@dataclasses.dataclass(frozen=True)
class Asked:
    """An instance with the interference of a speed model, and the model."""

    instance: Instance
    speeds: Speeds

    def question(self) -> Question:
        """Return the observation of the policy."""
        return Question(self.instance, self.speeds)


def question_of_sizes(rng: np.random.Generator, tensors: dict[str, Floats], *, change: bool, **sizes: Any) -> Asked:
    """Draw a question by `generate` of some sizes, with the fitted model or, with `change`, a similar model."""
    template = generate(rng, **sizes)
    tables = {name: tensors[name].astype(np.float64) for name in (*PAIRS, *ALONE)}
    if change:
        tables = {name: table * np.exp(SPREAD * rng.standard_normal(table.shape)) for name, table in tables.items()}
    millionths = {name: np.rint(1e6 * table).astype(np.int64) for name, table in tables.items()}
    instance = template.replace(
        sigma_worker=millionths["speeds.worker"],
        sigma_ps=millionths["speeds.ps"],
        linear=np.zeros_like(template.linear),
        quadratic=np.zeros_like(template.quadratic),
        rho_ps=millionths["speeds.remote_ps"],
        rho_worker=millionths["speeds.remote_worker"],
    )
    return Asked(instance, Speeds({k: v.astype(np.float32) for k, v in tables.items()}, template.types))


def random_question(rng: np.random.Generator, tensors: dict[str, Floats], servers: int, jobs: int) -> Asked:
    """Draw a question of up to `servers` and `jobs`, from a half-empty cluster to an overfull cluster."""
    return question_of_sizes(
        rng,
        tensors,
        change=bool(rng.integers(2)),
        servers=int(rng.integers(servers // 2, servers + 1)),
        jobs=int(rng.integers((jobs + 1) // 2, jobs + 1)),
        contention=float(rng.uniform(0.5, 1.3)),
        all_reduce=float(rng.choice([0.0, 0.0, 0.3])),
        **({"most_new": int(rng.integers(1, 4))} if rng.uniform() < 0.1 else {}),
    )


def exact_answer(question: Asked) -> tuple[Plan, bool]:
    """Return the best plan of the exact solver within the work limit, and whether it is proven optimal."""
    start, _ = registry().solver("placement", "local-search")
    solver, _ = registry().solver("placement", "cp-sat")
    hint = start.function(question.instance, rng=np.random.default_rng(0), moves=MOVES, rounds=1)
    request = Request(solver, "total_speed", limits=Limits(work=WORK), instance=question.instance, start=hint)
    outcome = solvers.run(request)
    plan: Any = hint if outcome.plan is None else outcome.plan
    return plan, outcome.status == "optimal"


def stored_answers(questions: list[Asked], keep: str) -> list[tuple[Plan, bool]]:
    """Return the exact answer to each question, and whether it is proven.

    keep: a file in which the answers are looked for and kept ("": nowhere).
    """
    digest = hashlib.sha256(json.dumps([a.instance.hash for a in questions]).encode()).hexdigest()
    stored = _read_answers(keep, digest)
    if stored is None:
        answers = [exact_answer(a) for a in questions]
        stored = [[plan.workers.tolist(), plan.ps.tolist(), proven] for plan, proven in answers]
        if keep:
            with atomic_write(keep, "w") as file:
                json.dump({"questions": digest, "answers": stored}, file)
    return [(Plan(workers=np.array(w), ps=np.array(p)), proven) for w, p, proven in stored]


def _read_answers(keep: str, digest: str) -> Any:
    """Return the stored answers to the questions of a digest, or None."""
    if not keep or not Path(keep).exists():
        return None
    stored = json.loads(Path(keep).read_text(encoding="utf-8"))
    return stored["answers"] if stored["questions"] == digest else None


def steps_to_plan(goal_question: Asked, plan: Plan, rng: np.random.Generator) -> list[tuple[View, Array]]:
    """Return one way from an empty placement to a plan: views, each with the right candidates (last: stopping).

    The order of the jobs is drawn. Steps without a choice are left out.
    """
    question = goal_question.question()
    states, goal = States(question, 1), np.stack([plan.workers, plan.ps], axis=2)  # J x M x 2
    liking = rng.exponential(1.0, question.jobs) ** rng.choice([0.0, 1.0, 4.0])
    decisions = []
    while not states.done[0]:
        view, (_, j, s, k) = states.view_and_candidates()
        rows = goal.copy()
        rows[:, states.touched[0]] -= np.stack([states.w[0], states.p[0]], axis=2)[question.running :][
            :, states.touched[0]
        ].astype(np.int64)
        target = _candidates_of_plan(states, rows, question.parts[k], j, s)
        if len(j) and (len(j) > 1 or view.may_stop[0]):
            decisions.append((view, np.append(target, not target.any())))
        if not target.any():
            break
        chance = target * liking[j]
        choice = int(rng.choice(len(j), p=chance / chance.sum()))
        job, server = int(j[choice]), int(s[choice])
        twin = _equal_server(states, goal, job, server, question.parts[k[choice]])
        goal[:, [server, twin]] = goal[:, [twin, server]]
        states.place_parts(np.array([0]), j[[choice]], s[[choice]], k[[choice]])
    return decisions


def _candidates_of_plan(states: States, rows: Array, parts: Array, jobs: Array, servers: Array) -> Any:
    """Mark the candidates that are a part of the plan, on their server or an equal server; `rows`: missing parts."""
    classes, fresh = states.question.classes, ~states.touched[0]
    leads = (rows[jobs, servers] == parts).all(axis=1) & ~fresh[servers]
    for c in np.flatnonzero(fresh[servers]).tolist():
        same = fresh & classes[:, classes[servers[c]].argmax()]
        leads[c] = bool((rows[jobs[c]][same] == parts[c]).all(axis=1).any())
    return leads


def _equal_server(states: States, goal: Array, job: int, server: int, part: Any) -> int:
    """Return the server of the part in the plan, which equals the chosen server."""
    if states.touched[0, server]:
        return server
    classes = states.question.classes
    same = ~states.touched[0] & classes[:, classes[server].argmax()]
    return int(np.flatnonzero(same & (goal[job] == part).all(axis=1))[0])
