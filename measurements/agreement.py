"""Agreement of four engines on the optima of random small instances of every problem.

    python measurements/agreement.py FILE [--minutes M] [--most N] [--json]

CP-SAT, HiGHS, SCIP, and dynamic programming or brute force answer instances drawn by the problems' generators, at sizes
of which every engine proves the optimum, each from a cold start: a plan that all were given would be something they
share. A question is an instance and one objective, which take turns. FILE gets one line of JSON per question: it is
only ever added to, so the command resumes where it stopped, also after being killed, and counts what other versions
have done apart. A disagreement is a line like any other, it is printed at once, and the exit status is 1 as long as
there is one in FILE. Without --minutes and --most, FILE is summed up only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlsched import api
from mlsched.core.errors import InvalidInput, MlschedError, TooLarge
from mlsched.core.registry import registry
from mlsched.core.versions import versions

#: Problem -> sizes that differ from those of `small`, drawn in turn.
SIZES: dict[str, tuple[dict[str, Any], ...]] = {
    "preemption": ({}, {"nodes": 2, "jobs": 7, "tes": 3}),
    "quality": ({}, {"jobs": 5, "cores": 11}),
    "workers": ({}, {"jobs": 3}),
    "placement": ({"jobs": 2}, {"servers": 2}, {}),
    "taskgraph": ({"runs": 5}, {"runs": 4, "jobs": 1, "graph": "dags"}, {}),
}
#: Problem -> every how many seeds it is asked: a question of these takes five times as long as another.
EVERY = {"placement": 4, "taskgraph": 4}
#: The versions by which answers are counted.
COUNTED = ("mlsched", "ortools", "highspy", "scipy")


def engines(problem: str, objective: str) -> dict[str, str]:
    """Engine -> solver, of those that take the objective."""
    found = {}
    for text in ("cp-sat", "highs", "highs:engine=scip", "dp", "brute-force"):
        name = text.partition(":")[0]
        known = registry().solvers.get((problem, name))
        if known is None or objective not in known.objectives or (":" in text and known.solved_by != "highs"):
            continue
        solver, values = registry().solver(problem, text)
        found[solver.engine_of(values)] = text
    return found


def questions() -> Iterator[tuple[str, dict[str, Any], int, str]]:
    """(problem, sizes, seed, objective), without end: objectives take turns, then sizes."""
    for seed in itertools.count():
        for problem, sizes in SIZES.items():
            if seed % EVERY.get(problem, 1) == 0:
                turn = seed // EVERY.get(problem, 1)
                objectives = registry().problem(problem).instance_type.objectives
                yield (
                    problem,
                    sizes[turn // len(objectives) % len(sizes)],
                    seed,
                    objectives[turn % len(objectives)].name,
                )


def ask(problem: str, sizes: dict[str, Any], seed: int, objective: str) -> dict[str, Any] | None:
    """Return the line of one question: each engine's proof or its reason to end without one; None without an instance.

    Some draws do not hold what is asked for: two nodes may be full after six jobs.
    """
    try:
        instance = api.generate(problem, "small", seed=seed, **sizes)
    except InvalidInput:
        return None
    said: dict[str, Any] = {}
    for engine, text in engines(problem, objective).items():
        try:
            found = api.solve(instance, text, objective=objective, time_limit=60.0, hint="none")
            said[engine] = found.sort_key if found.status == "optimal" else found.status
        except TooLarge:
            said[engine] = "too large"
        except MlschedError as error:
            said[engine] = f"{type(error).__name__}: {error}"
    return {"problem": problem, "sizes": sizes, "seed": seed, "objective": objective, "said": said}


def agree(said: dict[str, Any]) -> bool:
    """Return whether all proofs agree; an error counts as disagreement."""
    claims = {json.dumps(v) for v in said.values() if isinstance(v, int) or v == "infeasible"}
    return len(claims) <= 1 and not any(isinstance(v, str) and "Error" in v for v in said.values())


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts by versions and problem, also as a table."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for line in lines:
        proved = sum(isinstance(v, int) or v == "infeasible" for v in line["said"].values())
        count = counts[", ".join(f"{k} {v}" for k, v in line["versions"].items())][line["problem"]]
        count["questions"] += 1
        count[f"{proved} engines"] += 1
        count["disagreements"] += not agree(line["said"])
    rows = [
        [
            version,
            problem,
            *(count[f"{proved} engines"] for proved in range(2, 6)),
            count["0 engines"] + count["1 engines"],
            count["disagreements"],
        ]
        for version, problems in counts.items()
        for problem, count in problems.items()
    ]
    header = ["versions", "problem", "two engines", "three", "four", "five", "one or none", "disagreements"]
    return {
        "tables": [{"name": "agreement", "header": header, "rows": rows}],
        "questions": len(lines),
        "disagreements": [line for line in lines if not agree(line["said"])],
        "versions": {version: {p: dict(c) for p, c in found.items()} for version, found in counts.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--minutes", type=float, default=0.0, help="CPU minutes to spend")
    parser.add_argument("--most", type=int, default=0, help="questions to ask, in all")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    lines = [json.loads(text) for text in given.file.read_text().splitlines()] if given.file.exists() else []
    used = {name: versions()[name] for name in COUNTED}
    done = {(x["problem"], x["seed"], x["objective"]) for x in lines if x["versions"] == used}
    with given.file.open("a") as stream:
        for problem, sizes, seed, objective in questions():
            if time.process_time() >= 60 * given.minutes and len(done) >= given.most:
                break
            if (problem, seed, objective) in done:
                continue
            asked = ask(problem, sizes, seed, objective)
            if asked is None:
                continue
            line = {**asked, "versions": used}
            stream.write(json.dumps(line) + "\n")
            stream.flush()
            lines.append(line)
            done.add((problem, seed, objective))
            if not agree(line["said"]):
                print(f"disagreement: {json.dumps(line)}", file=sys.stderr)
    found = summary(lines)
    if given.json:
        print(json.dumps(found))
    else:
        for version, problems in found["versions"].items():
            print(version)
            for problem, count in problems.items():
                print(f"  {problem}: " + ", ".join(f"{name} {number}" for name, number in count.items()))
        print(f"{found['questions']} questions, {len(found['disagreements'])} disagreements")
    return 1 if found["disagreements"] else 0


if __name__ == "__main__":
    sys.exit(main())
