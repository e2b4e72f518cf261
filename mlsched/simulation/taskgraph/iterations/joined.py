"""Trace jobs joined with MLFS' task graphs, and optionally with files of measured models and learning curves.

Public logs do not record the computations of their jobs. The paper (Wang, Liu and Shen, CoNEXT 2020, Section 4.1) joins
arrivals, GPUs and running times of Philly with five algorithms that its authors ran. Here they are joined with the same
algorithms' graphs; `mlfs.py` has the rest of the recipe and draws everything that files lack.

Our own rules, if a trace differs from the recipe:

- The number of partitions of a job's model is the largest power of two that divides its GPUs, 32 at most; the rest is
  data parallelism. A share of a GPU counts as one; jobs without GPUs are left out.
- An iteration lasts at least a minute, so that jobs of less than `iterations` minutes have fewer. It sends its volume
  once per mini-batch of `batch` seconds, with their number rounded to the nearest power of two. Transfers between
  servers are added to the trace's running time, as is the slowdown by overload.
- Of a measured model (PipeDream's profiles), the pieces, their times and parameters, and the edges are from the file;
  the volumes are the recipe's. All models are equally likely.
- Along a measured curve (AlgoPerf's validation losses), accuracy rises from guessing to the drawn final one as the
  least loss so far falls; a job's iterations are spread over the complete run. Runs whose loss never falls are left
  out.
- Jobs of the same model, GPUs, number of iterations (to the next of `SPANS`) and of mini-batches share a graph.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Columns
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import CountOrNone, Positive, Range, check_size
from mlsched.core.safe_open import shown_path
from mlsched.instances.taskgraph.algorithms import ALGORITHMS, Algorithm, partition, serve, training_graph
from mlsched.instances.taskgraph.convert import Link
from mlsched.instances.taskgraph.profiles import job_graph, read_profiles
from mlsched.instances.traces import Trace, algoperf, read_trace
from mlsched.instances.traces.curve import Curve
from mlsched.instances.traces.public import located
from mlsched.instances.traces.source import shown
from mlsched.simulation.taskgraph.iterations import mlfs
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

#: Most partitions of a model, and most GPUs of a job.
MOST_PARTS, MOST_GPUS = 32, 4096
#: Least seconds of an iteration.
SHORTEST = 60
#: Shares of a job's most iterations to which its number is rounded up, such that jobs share a graph.
SPANS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


@validate_arguments
def joined(
    *,
    trace: str = "sample:philly",
    profiles: str = "",
    curves: str = "",
    jobs: CountOrNone = 0,
    seed: int = 0,
    servers: CountOrNone = 0,
    load: Positive = 0.8,
    arrivals: Positive = 1.0,
    iterations: Annotated[int, Range(2, 10**4)] = 40,
    batch: Positive = 5.0,
    largest: CountOrNone = 0,
    error: Annotated[float, Range(0, 1.5)] = 1.0,
) -> Jobs:
    """Join a trace's arrivals, GPUs and running times with MLFS' training jobs; ticks of a second.

    Args:
        trace: A log, "sample:NAME" or "data:NAME".
        profiles: PipeDream's or dnn-partitioning's graphs, file or archive; "": without.
        curves: AlgoPerf's runs, file or archive; "": without.
        jobs: Number of first jobs of the trace; 0: all.
        seed: Seed of the draws.
        servers: Number of servers of four GPUs; 0: the number that gives this `load` and has room for the largest job.
        load: Load of the GPUs while jobs arrive.
        arrivals: Factor on the arrival rate.
        iterations: Most iterations of a job.
        batch: Seconds of a mini-batch.
        largest: Jobs with more GPUs are left out; 0: unlimited.
        error: Factor on errors of estimates.
    """
    path = located(trace)
    if path is None:
        raise InvalidInput(f"trace: {trace!r}, expected a log, sample:NAME or data:NAME")
    log = read_trace(path, limit=jobs or None)
    rows = np.flatnonzero((log.gpu_count > 0) & ((log.gpu_count <= largest) | (largest == 0)))
    if not rows.size:
        raise InvalidInput(f"{log.source}: 0 jobs with a GPU; check jobs and largest")
    rng = np.random.default_rng([seed, len(rows)])
    models = _Models(profiles, curves, iterations, error)
    running = np.maximum(log.duration_ms[rows] / 1000, 1.0)
    sizes = log.gpu_count[rows]
    if sizes.max() > MOST_GPUS:
        name = shown(log.ids[int(rows[sizes.argmax()])])
        raise InvalidInput(
            f"{log.source}: job {name} needs {sizes.max()} GPUs, expected at most {MOST_GPUS}; set largest"
        )
    most = rng.integers(max(1, iterations // 2), iterations + 1, len(rows))
    most = np.minimum(most, np.maximum(running // SHORTEST, 1).astype(np.int64))
    template = models.templates(rng, sizes, most, running / most / batch)
    columns = models.made.arrays
    path_ticks = np.array(models.made.path)[template]
    scale = np.maximum(np.rint(running * WHOLE / (most * path_ticks)), 1).astype(np.int64)
    estimate = scale * (1 + error * mlfs.errors(rng, len(rows)))
    arrival = np.floor((log.submit[rows] - log.submit[rows[0]]) / arrivals).astype(np.int64)
    return Jobs(
        **mlfs.cluster(servers or _servers_for_load(sizes, running, arrival, load)),
        **columns,
        **models.losses,
        template=template,
        arrival=arrival,
        scale=scale,
        told=np.maximum(np.rint(estimate), 1).astype(np.int64),
        **mlfs.agreed(rng, columns["accuracy"][2 * template], most, arrival, running * estimate / scale),
        job_names=tuple(log.ids[row] for row in rows.tolist()),
        source=_source_text(log, len(rows), models, seed, arrivals, batch),
    )


def _servers_for_load(sizes: IntArray, running: FloatArray, arrival: IntArray, load: float) -> int:
    """Return the servers for this load on their GPUs while jobs arrive.

    They have room for the largest job with its parameter server.
    """
    span = max(float(arrival[-1]), float(running.max()))
    count = round(float((sizes * running).sum()) / (span * load * mlfs.GPUS_A_SERVER))
    return max(count, -(-int(sizes.max()) // mlfs.GPUS_A_SERVER))


def _source_text(log: Trace, jobs: int, models: _Models, seed: int, arrivals: float, batch: float) -> str:
    """Describe the workload for its source."""
    more = len(log) - jobs
    return (
        f"join: arrivals, GPUs and running times of {log.source} ({jobs} jobs{f', {more} left out' if more else ''}) "
        f"with {models.said}; users, requirements, volumes, usage and errors of estimates drawn (seed {seed}) by MLFS, "
        f"Section 4.1; arrival rate x {arrivals:g}; a mini-batch in {batch:g} s"
    )


class _Models:
    """Models that jobs train, and the templates made of them."""

    def __init__(self, profiles: str, curves: str, iterations: int, error: float) -> None:
        measured_models = read_profiles(profiles) if profiles else {}
        runs = [run for run in algoperf.read_curves(curves, split="validation") if _loss_falls(run)] if curves else []
        if curves and not runs:
            raise InvalidInput(f"{curves}: expected runs whose validation loss falls; give another file")
        self.iterations, self.error, self.made = iterations, error, mlfs.Templates()
        self._kinds: list[Algorithm | Any] = [*ALGORITHMS.values(), *measured_models.values()]
        self._runs, self._losses = runs, list[IntArray]()
        self.said = f"{len(ALGORITHMS)} algorithms' graphs"
        self.said += f", {len(measured_models)} of {shown_path(profiles)}" if measured_models else ""
        self.said += f", and {len(runs)} learning curves of {shown_path(curves)}" if runs else ""

    @property
    def losses(self) -> Columns:
        """Return the loss columns of `Jobs`."""
        return {"loss": np.array(self._losses)} if self._losses else {}

    def templates(self, rng: np.random.Generator, sizes: IntArray, most: IntArray, batches: FloatArray) -> IntArray:
        """Return the template of each job, shape (jobs,).

        Args:
            rng: Random stream.
            sizes: GPUs of each job.
            most: Most iterations of each job.
            batches: Mini-batches of an iteration.
        """
        spans = np.maximum(np.ceil(np.array(SPANS) * self.iterations), 1).astype(np.int64)
        columns = (
            rng.integers(len(self._kinds), size=len(sizes)),
            sizes,
            spans[np.searchsorted(spans, most)],
            2 ** np.rint(np.log2(np.maximum(batches, 1))).astype(np.int64),
        )
        rows, template = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        check_size("graphs x (GPUs + iterations)", float((rows[:, 1] + self.iterations).sum()))
        for kind, size, span, count in rows.tolist():
            self._add_template(rng, kind, size, span, count)
        return np.asarray(template.reshape(-1))

    def _add_template(self, rng: np.random.Generator, kind: int, size: int, span: int, batches: int) -> None:
        """Add a template of a model.

        Args:
            rng: Random stream.
            kind: Model.
            size: Number of GPUs.
            span: Iterations of its table.
            batches: Mini-batches of each iteration.
        """
        model, (between, syncing) = self._kinds[kind], mlfs.links(rng, batches)
        whole = isinstance(model, Algorithm) and model.cut == "never"
        share = 1 if whole else mlfs.REPLICAS
        parts = 1 if whole else min(size & -size, MOST_PARTS)
        if isinstance(model, Algorithm):
            stages = partition(model, parts)
            graph = training_graph(stages, share * size // parts, "parameter-server", between, syncing)
        else:
            pieces = _cut_pieces(model, parts)
            graph = _replicated_graph(pieces, share * size // len(pieces), between, syncing)
        work = sum(task["work"] for name, task in graph.nodes(data=True) if name != "ps" and name[0] == 0)
        mlfs.add_graph(self.made, rng, graph, work, share)
        table = self._accuracies_along(rng, span) if self._runs else mlfs.rising(rng, span)
        table = np.pad(table, (0, self.iterations - span), mode="edge")
        self.made.close(size, table, table * (1 + self.error * rng.uniform(-0.1, 0.1)))

    def _accuracies_along(self, rng: np.random.Generator, span: int) -> FloatArray:
        """Draw a recorded run, add its losses as a table, and return accuracies after 0 to `span` iterations of it."""
        run = self._runs[int(rng.integers(len(self._runs)))]
        at = np.linspace(run.steps[0], run.steps[-1], span + 1)
        loss = np.interp(at, run.steps, run.losses) / run.losses[0]
        self.made.add(loss_table=len(self._losses))
        self._losses.append(np.floor(WHOLE * np.pad(loss, (0, self.iterations - span), mode="edge")).astype(np.int64))
        fell = 1 - np.minimum.accumulate(loss)
        final = mlfs.final_accuracy(rng)
        return np.asarray(mlfs.GUESSING + (final - mlfs.GUESSING) * fell / fell[-1])


def _loss_falls(run: Curve) -> bool:
    """Check that a run's loss, never negative, is lower at its end than at first."""
    return len(run) > 1 and bool(run.losses.min() >= 0) and float(run.losses[-1]) < float(run.losses[0])


def _cut_pieces(profile: Any, parts: int) -> Any:
    """Cut a measured model into `parts` pieces, or into half of them, and so on, if its layers do not allow it."""
    tick = sum(time for _, time in profile.nodes(data="time")) / 1000 or 1.0
    while len(pieces := job_graph(profile, parts, tick=tick)) < parts:
        parts //= 2
    return pieces


def _replicated_graph(pieces: Any, replicas: int, between: Link, syncing: Link) -> Any:
    """Build the `training_graph` of a measured model's pieces; the last ones send to the parameter server."""
    import networkx as nx

    graph = nx.MultiDiGraph()
    inside = [(u, v) for u, v, lag in pieces.edges(data="lag") if not lag]
    senders = {u for u, _ in inside}
    for r in range(replicas):
        for p, piece in pieces.nodes(data=True):
            graph.add_node((r, p, 0), parameters=piece["parameters"], work=piece["duration"])
        for u, v in inside:
            graph.add_edge((r, u, 0), (r, v, 0), lag=0, volume=between.volume, delay=between.delay)
    serve(
        graph,
        {worker for worker in graph.nodes if worker[1] not in senders},
        sum(parameters for _, parameters in pieces.nodes(data="parameters")),
        syncing,
    )
    return graph
