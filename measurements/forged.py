"""Search for forged certificate folders that `mlsched check` accepts, and the cost of their checks.

    python measurements/forged.py [--folders N] [--seed N] [--time-limit S]

Prints one JSON document. N folders (default 5,000) are genuine ones that `tests/forgery.py` has changed in one or two
ways, with new hashes: certificates of tiny instances (logic and dual, two of each problem), of whole fronts and of a
front's points, and references of a log with and without pauses. A process checks each by `mlsched check`, with a time
limit of S wall seconds (default 1.5). "accepted falsely": the check passed, and brute force, or the genuine references,
say that the claim is false. "no line": the command printed a traceback, a character that is not printable, or more than
a line for a folder that it refused. "slowest, s": CPU seconds. "MB": the largest resident memory of the process so far.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import certificate_examples
import forgery

from mlsched import api
from mlsched.api.taskgraph import references
from mlsched.certificates.prices.statement import statements
from mlsched.core.errors import MlschedError

#: Objectives of the fronts that are certified.
FRONTS = {"preemption": ("total_score", "victim_count"), "quality": ("total_loss_reduction", "worst_loss")}
POINTS = ("total_jct", "makespan")


def serve(limit: float) -> None:
    """Read a folder and a log per line, check the folder, and print the result in a line."""
    from mlsched.cli.main import run

    for line in sys.stdin:
        started = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                status = run(["check", *json.loads(line), "--time-limit", str(limit)])
            except BaseException as error:
                status = -1
                print(repr(error)[:200], file=sys.stderr)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([status, out.getvalue(), err.getvalue(), time.process_time() - started, peak]), flush=True)


def checker(limit: float) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, __file__, "--serve", str(limit)], stdin=pipe, stdout=pipe, text=True)


def asked(process: subprocess.Popen[str], call: list[str]) -> Any:
    """Return the result that the process prints for a folder."""
    to: IO[str] | None = process.stdin
    assert to is not None
    assert process.stdout is not None
    print(json.dumps(call), file=to, flush=True)
    return json.loads(process.stdout.readline())


def signed(instance: Any, objective: str) -> int:
    """1 for an objective to be minimised, -1 for the others."""
    return 1 if instance.objective(objective).sense == "min" else -1


def is_true(folder: Path, intervals: dict[tuple[bool, str], tuple[int, int]]) -> bool:
    """Whether what an accepted folder claims is so."""
    manifest = json.loads((folder / "manifest.json").read_text())
    if manifest["kind"] == "taskgraph.reference":
        bound, value = intervals[manifest.get("pausing", False), manifest.get("weights", "jobs")]
        return bool(manifest["bound"] <= value and manifest["value"] >= bound)
    instance = api.load(folder / "instance.json")
    if manifest["proof"] == "logic" and len(manifest["first"] + manifest["objectives"]) > 1:
        names = [*manifest["first"], *manifest["objectives"]]
        front = api.pareto(instance, manifest["objectives"])
        values = [[instance.evaluate(plan)[name] for name in names] for plan in front.plans or ()]
        return front.status == "complete" and sorted(values) == sorted(manifest["values"])
    if len(manifest["objectives"]) > 1:
        return all(claim_is_true(instance, claim) for claim in manifest["proofs"])
    (objective,) = manifest["objectives"]
    try:
        best = api.solve(instance, "brute-force", objective=objective)
    except MlschedError:  # too large by now
        best = api.solve(instance, objective=objective)
    sign = signed(instance, objective)
    bound = manifest["proofs"][0]["bound"] if manifest["proof"] == "dual" else manifest["values"][0][0]
    return best.status == "optimal" and sign * bound <= sign * best.sort_key


def claim_is_true(instance: Any, claim: dict[str, Any]) -> bool:
    """Whether no plan that keeps to the limits is better than the bound."""
    from mlsched.solvers.taskgraph import brute_force

    plans = [dict(zip(brute_force.OBJECTIVES, row, strict=True)) for row in brute_force.examined(instance)[0]]
    for name, limit in claim["within"].items():
        plans = [plan for plan in plans if signed(instance, name) * (limit - plan[name]) >= 0]
    sign = signed(instance, claim["objective"])
    return all(sign * (plan[claim["objective"]] - claim["bound"]) >= 0 for plan in plans)


def certificates(place: Path) -> list[Path]:
    """Genuine certificates of every kind."""
    made = []
    for problem in certificate_examples.DRAWN:
        instances = list(certificate_examples.drawn(problem, 8))[-2:]
        for k, instance in enumerate(instances):
            objective = instance.objectives[k % len(instance.objectives)].name
            made.append(place / f"{problem}{k}")
            api.certify(instance, made[-1], objective=objective, proof="logic")
            if objective in statements()[instance.kind].module.CLAIMS:
                made.append(place / f"{problem}{k}-dual")
                api.certify(instance, made[-1], objective=objective, proof="dual")
            objectives = FRONTS.get(problem, POINTS if problem == "taskgraph" else None)
            if objectives is not None:
                plans = api.pareto(instance, objectives).plans
                made += [place / f"{problem}{k}-front"] * 2  # as often as the others
                api.certify_front(instance, plans, made[-1], objectives=objectives)
    return made


def of_a_log(place: Path) -> tuple[Path, list[Path], dict[tuple[bool, str], tuple[int, int]]]:
    """A log, genuine references, and the interval of the best schedule by pauses and weights."""
    log, made, intervals = place / "log.csv", [], {}
    lines = [f"{300 * k},{600 + 60 * k},{1 + k}" for k in range(6)]
    log.write_text("submit_s,duration_s,gpus\n" + "\n".join(lines) + "\n")
    given = {"cluster": "2x(8gpu)", "read": None, "limit": None, "set": {}}
    work = api.workload(str(log), "taskgraph", cluster=given["cluster"])
    for pausing in (False, True):
        for weights in ("jobs", "area", "urgency"):
            folder = place / f"reference-{pausing}-{weights}"
            found = references.make_reference(
                work, folder, moves=5, pausing=pausing, weights=weights, log_options=given
            )
            intervals[pausing, weights] = found.bound, found.value
            made.append(folder)
    return log, made, intervals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=1.5)
    parser.add_argument("--serve", type=float)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return
    fate, ways, kinds, false, no_line = Counter[str](), Counter[str](), Counter[str](), 0, 0
    slowest, largest = (0.0, ""), (0.0, "")
    with tempfile.TemporaryDirectory() as place, checker(given.time_limit) as process:
        genuine = certificates(Path(place))
        log, of_logs, intervals = of_a_log(Path(place))
        for folder in genuine:
            assert asked(process, [str(folder)])[0] == 0, folder
        for folder in of_logs:
            assert asked(process, [str(folder), "--log", str(log)])[0] == 0, folder
        for number in range(given.folders):
            folder, dice = Path(place) / "forged", random.Random(f"{given.seed} {number}")
            if number % 4:
                way, call = forgery.forge(genuine, folder, dice), [str(folder)]
            else:
                way, call = forgery.forge_reference(of_logs, folder, dice), [str(folder), "--log", str(log)]
            status, out, err, seconds, peak = asked(process, call)
            said = {0: "accepted", 1: "refused", 2: "cannot be read"}.get(status, "TRACEBACK")
            fate[said] += 1
            ways[way] += 1
            fate["ended by the time limit"] += "the check did not end" in err
            fate["ended by the memory limit"] += "needs more than" in err and "MiB" in err
            slowest, largest = max(slowest, (seconds, way)), max(largest, (peak, way))
            lines = err.splitlines()
            printed = [*out.splitlines(), *lines]
            if status < 0 or not all(map(str.isprintable, printed)) or len(lines) > (status != 0):
                no_line += 1
                print(number, way, status, ascii(out[-300:]), ascii(err[-300:]), file=sys.stderr)
            if status == 0:
                kinds[json.loads((folder / "manifest.json").read_text())["kind"]] += 1
                if not is_true(folder, intervals):
                    false += 1
                    print(f"FALSE {number}: {way}", file=sys.stderr)
            shutil.rmtree(folder)
            if number % 250 == 249:
                print(number + 1, dict(fate), slowest, largest, file=sys.stderr, flush=True)
        process.stdin.close()  # type: ignore[union-attr]
    document = {"folders": given.folders, **dict(sorted(fate.items())), "accepted falsely": false, "no line": no_line}
    document |= {
        "slowest, s": slowest,
        "MB": largest,
        "accepted, by kind": dict(kinds),
        "ways": dict(sorted(ways.items())),
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
