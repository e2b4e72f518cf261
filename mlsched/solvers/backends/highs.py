"""HiGHS: solve a Pyomo formulation to proven optimality, or until a limit.

Pyomo compiles the model. HiGHS is called directly because Pyomo's own interface passes no start and hides the limit
that ended the search. `staged.py` explains how an objective of several terms is minimised.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from typing import Any

import numpy as np

from mlsched.core.aliases import BackendModel, BackendResult
from mlsched.core.contract import Plan, Sense
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.formulation import Formulation, Limits, Outcome, Term, safe_bound
from mlsched.solvers.backends.interruptible import interruptible
from mlsched.solvers.backends.known_bugs.trust import believed
from mlsched.solvers.backends.one_of import check_hint
from mlsched.solvers.backends.pyomo_matrix import Matrix, bounds_of, compile_model
from mlsched.solvers.backends.staged import ABSOLUTE_GAP, WORK, Stage, minimise_terms

#: See `solvers.BACKENDS`: 0.4 to 1.0 on models of 1,400 to 30,000 variables, and the same again for the first steps of
#: HiGHS, during which it does not check its clock: 9 s beyond a limit of 5 on `moving` (task graphs, total_accuracy).
COMPILING = 2.0
#: Seconds per nonzero that HiGHS' presolve may take, also without checking the clock: 5.9 s for 506,000 on `moving`.
#: If less time remains, presolve is skipped, and HiGHS respects its limit.
PRESOLVING = 1.2e-5
#: Nonzeros of a linear program that may take a second or more.
LONG = 20_000


def minimise(
    formulation: Formulation,
    objective: str,
    sense: Sense,
    limits: Limits,
    hint: Plan | None,
    better_than: int | None = None,
) -> Outcome:
    """Minimise or maximise one objective of `formulation`, term by term.

    `limits.work` limits branch-and-bound nodes. With `better_than`, only plans with a better value count; "infeasible"
    then means that such a plan does not exist.
    """
    run = _Run(formulation, limits, hint)
    return believed(minimise_terms(run, formulation, objective, sense, better_than), "highs", run.matrix.features)


class _Run:
    """One formulation in HiGHS, solved for one term after another."""

    name = "highs"

    def __init__(self, formulation: Formulation, limits: Limits, hint: Plan | None) -> None:
        self.formulation, self.limits, self.deadline = formulation, limits, Deadline(limits.seconds)
        self.work: Counter[str] = Counter()
        self.matrix = compile_model(formulation.model)
        self.highs = new_highs(limits)
        if self.matrix.columns:
            check(self.highs.passModel(_linear_program(self.matrix)), "passModel")
        if hint is not None:
            self._pass_start(hint)

    def _pass_start(self, hint: Plan) -> None:
        """Pass a plan as the start. It may name only some variables; HiGHS completes it or drops it."""
        import highspy

        pairs = self.formulation.encode(hint)
        check_hint(pairs)
        if pairs:
            index = np.array([self.matrix.position[id(v)] for v, _ in pairs], dtype=np.int32)
            status = self.highs.setSolution(len(pairs), index, np.array([float(value) for _, value in pairs]))
            if status == highspy.HighsStatus.kError:
                raise BackendError("highs refused the warm start")

    def solve(self, term: Term, sign: int) -> Stage:
        """Minimise sign * term without its weight, which would only scale it."""
        if not self.matrix.columns:
            return Stage("optimal", np.zeros(0), 0, 0)
        cost, constant = self.costs(sign * term.expression)
        columns = np.arange(len(cost), dtype=np.int32)
        check(self.highs.changeColsCost(len(cost), columns, cost), "changeColsCost")
        check(self.highs.changeObjectiveOffset(constant), "changeObjectiveOffset")
        if (remaining := self.deadline.remaining()) is not None:
            hurried = len(self.matrix.values) * PRESOLVING > remaining
            self.highs.setOptionValue("presolve", "off" if hurried else "choose")
            # HiGHS counts its run time from the first solve of an instance on.
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + max(0.001, remaining))
        run(self.highs)
        return self._read()

    def _read(self) -> Stage:
        import highspy

        status, info = self.highs.getModelStatus(), self.highs.getInfo()
        self.work["nodes"] += max(0, info.mip_node_count)
        self.work["simplex_iterations"] += max(0, info.simplex_iteration_count)
        ending = {
            highspy.HighsModelStatus.kOptimal: "optimal",
            highspy.HighsModelStatus.kInfeasible: "infeasible",
            highspy.HighsModelStatus.kTimeLimit: "time limit",
            highspy.HighsModelStatus.kInterrupt: "time limit",
            highspy.HighsModelStatus.kSolutionLimit: "work limit",
            highspy.HighsModelStatus.kIterationLimit: "work limit",
        }.get(status)
        if ending is None:
            raise BackendError(f"highs ended with {status.name}: neither a proof nor a limit")
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        if ending == "optimal" and not feasible:
            raise BackendError("highs reports a proof without a solution")
        solution = np.asarray(self.highs.getSolution().col_value) if feasible else None
        value = round(info.objective_function_value) if feasible else None
        return Stage(ending, solution, value, value if ending == "optimal" else safe_bound(info.mip_dual_bound))

    def fix(self, term: Term, sign: int, value: int) -> None:
        """Restrict sign * term to at most `value` from now on; half a unit absorbs rounding."""
        cost, constant = self.costs(sign * term.expression)
        index = np.flatnonzero(cost).astype(np.int32)
        upper = value + 0.5 - constant
        check(self.highs.addRow(-np.inf, upper, len(index), index, cost[index]), "addRow")

    def costs(self, expression: Any) -> tuple[FloatArray, float]:
        """Return the dense cost vector and the constant of a linear expression."""
        return self.matrix.costs(expression)

    def decode(self, solution: FloatArray) -> Plan:
        """Return the plan of a vector of column values."""
        return self.formulation.decode(lambda variable: round(solution[self.matrix.position[id(variable)]]))


def _linear_program(matrix: Matrix) -> BackendModel:
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(matrix.columns), len(matrix.row_lower)
    lp.col_cost_ = np.zeros(lp.num_col_)
    lp.col_lower_, lp.col_upper_, integer = bounds_of(matrix.columns)
    lp.row_lower_, lp.row_upper_ = matrix.row_lower, matrix.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.starts, matrix.indices, matrix.values
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[whole] for whole in integer.tolist()]
    return lp


def check(status: BackendResult, call: str) -> None:
    """Raise BackendError if a call of the HiGHS interface failed."""
    import highspy

    if status == highspy.HighsStatus.kError:
        raise BackendError(f"highs: {call} failed")


def run(highs: BackendModel) -> None:
    """Run HiGHS; if its presolve fails, run it once without presolve.

    HiGHS 1.13.1 ends with kSolveError on some infeasible models that presolve reduces to an empty model, such as
    2x + y + 2z = 0, x = 0, y = -1, z integer in [-1, 1]; without presolve it reports that they are infeasible.
    """
    _run_interruptibly(highs)
    if highs.getModelStatus() == import_highspy().HighsModelStatus.kSolveError:
        highs.setOptionValue("presolve", "off")
        highs.clearSolver()
        _run_interruptibly(highs)
        highs.setOptionValue("presolve", "choose")


def _run_interruptibly(highs: BackendModel) -> None:
    """Run HiGHS such that Ctrl-C ends it, even if earlier runs were also interrupted.

    highspy's own `cancelSolve` prevents a HiGHS instance that it has ended from running again.
    """
    ending = threading.Event()

    def look(event: BackendResult) -> None:
        if ending.is_set():
            event.interrupt()

    looks = (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt)
    for each in looks:
        each.subscribe(look)
    try:
        interruptible(highs.run, ending.set)
    finally:
        for each in looks:
            each.unsubscribe(look)


def run_lp(highs: BackendModel) -> None:
    """Run HiGHS on a linear program; make large programs interruptible by Ctrl-C."""
    if highs.getNumNz() < LONG:
        highs.run()
    else:
        _run_interruptibly(highs)


def new_highs(limits: Limits) -> BackendModel:
    """Return a HiGHS instance with these limits, set for models whose objectives are integers."""
    highs = import_highspy().Highs()
    # Without this reset, a solve with another number of threads than the first of the process ends in kNotset.
    import_highspy().Highs.resetGlobalScheduler(True)
    options = {
        "output_flag": False,
        "threads": limits.threads,
        "random_seed": limits.seed % 2**31,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": ABSOLUTE_GAP,
        "mip_feasibility_tolerance": 1e-9,
    }
    if limits.work is not None:
        options["mip_max_nodes"] = max(1, round(limits.work))
    for name, value in options.items():
        check(highs.setOptionValue(name, value), f"option {name} = {value}")
    return highs


@functools.cache
def import_highspy() -> BackendModel:
    """Return highspy. Raise InvalidInput if it is missing or incompatible, even if a plan is known."""
    try:
        import highspy
    except ImportError as error:
        raise InvalidInput(f"highs: highspy cannot be imported ({error}); pip install 'highspy>=1.12,<1.15'") from None
    return highspy


__all__ = ["WORK", "check", "import_highspy", "minimise", "new_highs", "run", "run_lp"]
