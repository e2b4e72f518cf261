"""Speed of a log's jobs on each type of node: by a table of throughputs, or by a column of the log.

A job's logged duration is that on one type: `measured_on`, or else the one type of the log's `gpu_type`. On type m it
takes duration x rate there / rate on m; if its rate is 0 it may not run. A job without GPUs takes the same time on all
types. Ratios are rounded down to ppm: rounded up, a job of 3 ticks and a ratio of 2/3 would take a third tick for its
last 10^-6.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.fields import IntArray
from mlsched.instances.traces import Nodes, Trace
from mlsched.instances.traces.source import shown
from mlsched.instances.traces.throughputs import MOST_RATE, Throughputs, read_throughputs
from mlsched.simulation.taskgraph.iterations.workload import WHOLE

#: Largest factor on a job's stated time on some type, ppm.
MOST_SLOWNESS = 10**12


@dataclasses.dataclass(frozen=True)
class Typed:
    """Columns of a cluster with nodes of several types.

    They are: eligible nodes, shape (classes, nodes); the class of each job; the type of each node; the types' names;
    the time factor of tasks, ppm, shape (classes, types); and a description.
    """

    eligible: IntArray
    of_class: IntArray
    node_type: IntArray
    names: tuple[str, ...]
    slowness: IntArray
    said: str

    def fields(self) -> Data:
        """Return the corresponding columns of a workload."""
        return {"node_type": self.node_type, "type_names": self.names, "slowness": self.slowness}


def typed(
    trace: Trace, kept: IntArray, nodes: Nodes | None, eligible: IntArray, of_class: IntArray, path: str, on: str
) -> Typed | None:
    """Return the rates of these jobs of a trace; None if both the table (`path`) and the log lack them.

    Args:
        trace: Jobs of the trace.
        kept: Rows of the workload's jobs.
        nodes: Nodes of the cluster.
        eligible, of_class: Classes of jobs by other restrictions.
        path: Table of rates.
        on: Type of the logged durations.
    """
    if not path and not any(trace.rates[row] for row in kept.tolist()):
        if on:
            raise InvalidInput(f"measured_on={shorten(on)}: rates are missing; give throughputs=TABLE")
        return None
    names, node_type = _node_types(nodes)
    reader = _Rates(trace, read_throughputs(path) if path else None, names, _plain_name(on))
    rows = [reader.slowness(row) for row in kept.tolist()]
    keys = list(zip(of_class.tolist(), rows, strict=True))
    number = {key: k for k, key in enumerate(sorted(set(keys)))}
    table = np.array([row for _, row in number], dtype=np.int64).reshape(len(number), len(names))
    may = eligible[[kind for kind, _ in number]] * (table[:, node_type] > 0)
    classes = np.array([number[key] for key in keys], dtype=np.int64)
    nowhere = np.flatnonzero((may.sum(axis=1) == 0)[classes])
    if nowhere.size:
        job = shown(trace.ids[int(kept[nowhere[0]])])
        raise InvalidInput(
            f"job {job} cannot run: its rate is 0 on every node that it may use; correct its rates, or add nodes"
        )
    source = f"{reader.table.source}" if reader.table else "the log"
    note = (
        f"rates of {', '.join(names)} by {source}; durations are on {_plain_name(on) or 'the type that the log names'}"
    )
    return Typed(may, classes, node_type, names, np.where(table > 0, table, WHOLE), note)


def alike(trace: Trace, kept: IntArray, nodes: Nodes | None, obeyed: bool) -> str:
    """Describe that GPU types have no effect without rates and jobs bound to a type; "" otherwise.

    `obeyed` is True if jobs keep to the types that they name.
    """
    kinds = sorted({_plain_name(model) for model in nodes.model if model}) if nodes else []
    if len(kinds) < 2 or (obeyed and any(trace.gpu_type[row] for row in kept.tolist())):
        return ""
    return f"jobs run alike on {', '.join(kinds)}: there are no rates (throughputs=TABLE)"


def _plain_name(name: str) -> str:
    return name.strip().lower()


def _node_types(nodes: Nodes | None) -> tuple[tuple[str, ...], IntArray]:
    """Return the types of a cluster's nodes, and that of each node."""
    if nodes is None:
        raise InvalidInput(
            "throughputs: types of nodes are missing; give cluster=4x(8gpu:v100)+2x(8gpu:k80), or a file of nodes "
            "with a column model"
        )
    lacking = [name for name, gpus, model in zip(nodes.ids, nodes.gpus, nodes.model, strict=True) if gpus and not model]
    if lacking:
        raise InvalidInput(
            f"throughputs: node {shown(lacking[0])} has GPUs without a type; give each shape's, as in 8gpu:v100, or "
            "each node its model"
        )
    own = [_plain_name(model) for model in nodes.model]
    names = sorted(set(own))
    return tuple(name or "no GPU" for name in names), np.array([names.index(name) for name in own], dtype=np.int64)


class _Rates:
    """Reader of job rates."""

    def __init__(self, trace: Trace, table: Throughputs | None, names: tuple[str, ...], on: str) -> None:
        self.trace, self.table, self._names, self._on = trace, table, names, on
        self._known: dict[tuple[Any, ...], tuple[int, ...]] = {}

    def slowness(self, row: int) -> tuple[int, ...]:
        """Return the time of the job on each type, ppm of its logged duration; 0: it may not run there."""
        trace = self.trace
        key = (trace.model[row], int(trace.gpu_count[row]), trace.rates[row], trace.gpu_type[row])
        if key not in self._known:
            try:
                self._known[key] = self._slowness_of(*key)
            except InvalidInput as error:
                raise InvalidInput(f"job {shown(trace.ids[row])}: {error}") from None
        return self._known[key]

    def _slowness_of(self, model: str, gpus: int, text: str, own_type: str) -> tuple[int, ...]:
        if not gpus:
            return (WHOLE,) * len(self._names)
        rates, source = self._rates_of(model, gpus, text)
        on = self._on or _plain_name(own_type)
        if on not in rates:
            there = f"the type its duration is of, {shown(on)}, has no rate in {source}" if on else "names no GPU type"
            raise InvalidInput(
                f"{there}; for the type of the durations give measured_on=TYPE, one of {', '.join(rates)}"
            )
        if not rates[on]:
            raise InvalidInput(
                f"its duration is of {on}, where its rate in {source} is 0; correct the rate, or give measured_on=TYPE"
            )
        lacking = [name for name in self._names if name not in rates and name != "no GPU"]
        if lacking:
            raise InvalidInput(
                f"nodes have GPUs of type {lacking[0]}, {source} has {', '.join(rates)}; add it, 0 where it cannot run"
            )
        factors = []
        for name in self._names:
            rate = rates.get(name, 0.0)
            ratio = WHOLE * Fraction(rates[on]) / Fraction(rate) if rate else Fraction(0)
            if ratio > MOST_SLOWNESS:
                raise InvalidInput(f"runs more than {MOST_SLOWNESS // WHOLE} times slower on {name}; give 0 there")
            if rate and ratio < 1:
                raise InvalidInput(f"runs more than {WHOLE} times faster on {name} than on {on}; correct its rates")
            factors.append(int(ratio))
        return tuple(factors)

    def _rates_of(self, model: str, gpus: int, text: str) -> tuple[dict[str, float], str]:
        """Return type of nodes -> rate of a job, and their source.

        The log's own rates (`text`) have priority over the table's for this model and number of GPUs.
        """
        if text:
            return _parse_rates(text), "its rates"
        if self.table is None:
            raise InvalidInput("rates are missing; write v100=12.5|k80=3, or give throughputs=TABLE")
        if not model:
            raise InvalidInput(f"the model to look up in {self.table.source} is missing; read model=COLUMN")
        return {_plain_name(name): rate for name, rate in self.table.of(model, gpus).items()}, self.table.source


def _parse_rates(text: str) -> dict[str, float]:
    """Parse "v100=12.5|k80=3"; types in lower case."""
    factors: dict[str, float] = {}
    for part in text.replace(";", "|").split("|"):
        name, sign, value = part.partition("=")
        try:
            rate = float(value)
        except ValueError:
            rate = -1.0
        if not sign or not _plain_name(name) or _plain_name(name) in factors or not 0 <= rate < MOST_RATE:
            raise InvalidInput(f"rates {shown(text)}: expected such as v100=12.5|k80=3, each type once, 0: cannot run")
        factors[_plain_name(name)] = rate
    return factors
