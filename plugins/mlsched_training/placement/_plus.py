"""Harmony-plus' training: a speed model from history, then imitation of exact answers, then of its own best answers.

1. History: placed jobs and their measured speeds give the speed model (`_plus_history`). It is all that the rest knows
   of interference.
2. Imitation: small questions are answered exactly (`_plus_examples`). Every order of placing an answer's parts is
   right, so the loss of a step is -log of the probability of all candidates that lead there together.
3. Expert iteration (Anthony et al., "Thinking Fast and Slow with Deep Learning and Tree Search", 2017): larger
   questions are too many for exact answers. So several placements are drawn for each, and the placement with the
   highest estimated total speed is imitated in the same way, beside the exact answers.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, CountOrNone, Range
from mlsched.instances.placement import Plan
from mlsched.instances.placement.models import KINDS
from mlsched.learned.placement.harmony_plus import complete_placements
from mlsched.learned.placement.plus_net import MOST_ATTENTION, PlusNet, View, tensor_shapes
from mlsched.learned.placement.plus_state import States
from mlsched_training._recipe import Tensors, Validation
from mlsched_training._torch import Tensor, adam_state, restore_adam, seed_torch, torch_module
from mlsched_training.placement._plus_examples import Asked, random_question, steps_to_plan, stored_answers
from mlsched_training.placement._plus_history import fit_tables, synthetic_instances

#: Streams of random numbers that every training seed has in common: history, answers, validation.
HISTORY, ANSWERS, HELD_OUT = 1, 2, 3
#: Servers and jobs, at most, of the questions that are answered exactly.
SMALL = (6, 5)
#: Observation, and the right candidates (last entry: whether stopping is right).
Decisions = list[tuple[View, Any]]


@dataclasses.dataclass(frozen=True)
class PlusParams(ValidatedFields):
    """Parameters of Harmony-plus' training.

    The first `imitation` iterations imitate exact answers. The next `own` iterations draw `samples` placements of each
    of `asked` questions of up to servers x jobs; half of a batch is then from the best placements.

    Attributes:
        interference: Kind of the simulated cluster whose history is recorded.
        history: Jobs in the history.
        hidden: Neurons.
        questions: Exact answers to imitate; unproven answers are left out.
        walks: Ways through each answer.
        steps: Steps of Adam in an iteration, each on `batch` decisions.
        imitation_rate: First learning rate of the imitation, which falls to a tenth.
        learning_rate: First learning rate of the later iterations, which falls to a tenth.
        validation: Questions, half of them of each kind.
        every: Iterations between validations.
        gap, flat, span: The criterion, see `has_settled`.
        keep: File that keeps exact answers for another training (default: no file).
    """

    interference: Annotated[str, KINDS] = "pairwise"
    history: Annotated[int, Range(20, 10**6)] = 4000
    hidden: Count = 32
    questions: Count = 240
    walks: Count = 4
    imitation: CountOrNone = 8
    steps: Count = 60
    batch: Count = 256
    imitation_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.003
    own: CountOrNone = 12
    asked: Count = 40
    samples: Annotated[int, Range(2, 10**4)] = 16
    servers: Annotated[int, Range(2, 1000)] = 12
    jobs: Annotated[int, Range(2, 1000)] = 9
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.001
    validation: Count = 60
    every: Count = 5
    gap: Annotated[float, Range(0, 100, open_low=True)] = 5.0
    flat: Annotated[float, Range(0, 100, open_low=True)] = 1.0
    span: Count = 10
    keep: str = dataclasses.field(default="", metadata={"card": False})


@functools.lru_cache(maxsize=2)
def fitted_speed_model(interference: str, jobs: int) -> tuple[dict[str, Array], tuple[str, ...], float]:
    """Return the fitted speed model, which is the same for every training seed."""
    return fit_tables(np.random.default_rng([HISTORY, jobs]), jobs, synthetic_instances(interference))


@functools.lru_cache(maxsize=4)
def exact_answers(stream: int, count: int, params: PlusParams) -> list[tuple[Asked, Plan, bool]]:
    """Return questions, their exact answers, and whether these are proven; equal for every training seed.

    Questions for validation are small and large by turns.
    """
    p, tensors = params, fitted_speed_model(params.interference, params.history)[0]
    questions = []
    for k in range(count):
        large = stream == HELD_OUT and k % 2
        questions.append(
            random_question(np.random.default_rng([stream, k]), tensors, *((p.servers, p.jobs) if large else SMALL))
        )
    solutions = stored_answers(questions, p.keep and f"{p.keep}.{stream}")
    return [(question, plan, proven) for question, (plan, proven) in zip(questions, solutions, strict=True)]


class Learner:
    """Harmony-plus in training."""

    def __init__(self, params: PlusParams, seed: int, device: str) -> None:
        t = torch_module()
        self.params, self.seed, self.device = params, seed, device
        self.speeds, self.types, self.error = fitted_speed_model(params.interference, params.history)
        seed_torch(seed, 0)
        self.tensors = {
            name: _initial_weights(shape).to(device) for name, shape in tensor_shapes(params.hidden).items()
        }
        self.parameters = [value.requires_grad_() for value in self.tensors.values()]
        self.optimiser = t.optim.Adam(self.parameters, lr=params.imitation_rate)
        self.decisions: Decisions = []
        self.held_out = exact_answers(HELD_OUT, params.validation, params)

    # -- the network in torch -----------------------------------------------------------------------------------------

    def scores(self, view: View) -> tuple[Tensor, Tensor]:
        """Compute the scores as `PlusNet`, with gradients."""
        t, w = torch_module(), self.tensors
        relu = t.relu
        edge = view.candidates @ w["edge.candidate"] + (view.jobs @ w["edge.job"])[view.job]
        edge = edge + (view.servers @ w["edge.server"])[view.server]
        edge = relu(edge + (view.whole @ w["edge.whole"] + w["edge.bias"])[view.state])
        weight = (edge @ w["attention"]).clamp(-MOST_ATTENTION, MOST_ATTENTION).exp()
        ends = ((view.job, len(view.jobs)), (view.server, len(view.servers)), (view.state, len(view.whole)))
        by_job, by_server, message = (attend_groups(edge, weight[:, k], *end) for k, end in enumerate(ends))
        edge = edge @ w["score.edge"] + (by_job @ w["score.job"])[view.job]
        edge = edge + (by_server @ w["score.server"])[view.server]
        edge = relu(edge + (message @ w["score.whole"] + w["score.bias"])[view.state])
        stop = relu(message @ w["stop.message"] + view.whole @ w["stop.whole"] + w["stop.bias"])
        return (edge @ w["score.out"])[:, 0], (stop @ w["stop.out"])[:, 0]

    def log_chances(self, view: View) -> tuple[Tensor, Tensor]:
        """log-probabilities of the candidates and of stopping (impossible: -1e9)."""
        t = torch_module()
        scores, stop = self.scores(view)
        stop = stop.masked_fill(~view.may_stop, -1e9)
        rows = t.cat([view.state, t.arange(len(stop), device=self.device)])
        total = log_sums_of_groups(t.cat([scores, stop]), rows, len(stop))
        return scores - total[view.state], stop - total

    def _adam_step(self, loss: Tensor) -> None:
        self.optimiser.zero_grad()
        loss.backward()
        torch_module().nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()

    # -- an iteration -------------------------------------------------------------------------------------------------

    def improve(self, iteration: int) -> dict[str, float]:
        """Run one iteration on exact answers, or on both exact answers and the best of its own."""
        p, rng = self.params, np.random.default_rng([self.seed, iteration])
        if not self.decisions:
            draw = np.random.default_rng([self.seed, 0])
            pairs = [
                (question, plan) for question, plan, proven in exact_answers(ANSWERS, p.questions, p) if proven
            ] * p.walks
            self.decisions = [step for question, plan in pairs for step in steps_to_plan(question, plan, draw)]
        if iteration <= p.imitation:
            self._set_learning_rate(p.imitation_rate, iteration, p.imitation)
            return {"loss": self._imitate_decisions([(self.decisions, p.batch)], rng)}
        self._set_learning_rate(p.learning_rate, iteration - p.imitation, p.own)
        own, gain = self._best_own_decisions(rng)
        half = p.batch // 2
        return {"loss": self._imitate_decisions([(self.decisions, p.batch - half), (own, half)], rng), "gain": gain}

    def _set_learning_rate(self, first: float, iteration: int, of: int) -> None:
        """Set Adam's learning rate, which falls from `first` to a tenth within `of` iterations."""
        for group in self.optimiser.param_groups:
            group["lr"] = first * 0.1 ** min(1.0, (iteration - 1) / max(1, of - 1))

    def _imitate_decisions(self, sources: list[tuple[Decisions, int]], rng: np.random.Generator) -> float:
        """Run steps of Adam on random decisions of each source, and return the mean loss."""
        t, losses = torch_module(), []
        for _ in range(self.params.steps):
            sample = [source[k] for source, n in sources for k in rng.integers(0, len(source), n)]
            view, target, last = joined_view(sample, self.device)
            chances, stop = self.log_chances(view)
            rows = t.cat([view.state, t.arange(len(stop), device=self.device)])
            right = t.cat([chances, stop]).masked_fill(~t.cat([target, last]), -1e9)
            loss = -log_sums_of_groups(right, rows, len(stop)).mean()
            self._adam_step(loss)
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    def _best_own_decisions(self, rng: np.random.Generator) -> tuple[Decisions, float]:
        """Return decisions on the way to the best of several placements of new questions, and the percentage by which
        its speed exceeds the speed of the likeliest placement.
        """
        p, net, gains = self.params, PlusNet(self.weights()), []
        decisions: Decisions = []
        for _ in range(p.asked):
            question = random_question(rng, self.speeds, p.servers, p.jobs)
            states = States(question.question(), p.samples)
            complete_placements(states, net, rng)
            values = states.total_speeds()
            gains.append(100 * (float(values.max()) / max(1.0, float(values[0])) - 1))
            decisions += steps_to_plan(question, states.plan(int(values.argmax())), rng)
        return decisions, float(np.mean(gains))

    # -- interface of the trainer --------------------------------------------------------------------------------------

    def validate(self, weights: Tensors) -> Validation:
        """Return the mean loss of estimated speed against exact answers in percent, with one placement each."""
        net, rng, gaps = PlusNet(weights), np.random.default_rng(0), []
        for held_out_question, plan, _ in self.held_out:
            question, i = held_out_question.question(), held_out_question.instance
            states = States(question, 1)
            complete_placements(states, net, rng)
            w, p = np.concatenate([i.run_workers, plan.workers]), np.concatenate([i.run_ps, plan.ps])
            best = max(1.0, float(question.total_speed(w[None].astype(float), p[None].astype(float))[0]))
            gaps.append(100 * (1 - float(states.total_speeds()[0]) / best))
        gap = float(np.mean(gaps))
        return Validation(gap, gap <= self.params.gap, {"small": float(np.mean(gaps[::2]))})

    def weights(self) -> dict[str, Array]:
        """Return the tensors of the network and of the speed model."""
        return {**{k: v.detach().cpu().numpy() for k, v in self.tensors.items()}, **self.speeds}

    def state(self) -> dict[str, Array]:
        """Return the state of the network and of Adam."""
        state = {k: v.detach().cpu().numpy() for k, v in self.tensors.items()}
        return {**state, **adam_state(self.optimiser, self.parameters)}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        t = torch_module()
        with t.no_grad():
            for name, value in self.tensors.items():
                value.copy_(t.from_numpy(state[name].copy()))
        restore_adam(self.optimiser, self.parameters, state)


def joined_view(decisions: Decisions, device: str) -> tuple[View, Tensor, Tensor]:
    """Return decisions of any size as one view in torch, with the correct candidates and stops."""
    t = torch_module()
    views = [view for view, _ in decisions]
    columns = {}
    for name in ("candidates", "jobs", "servers", "whole", "may_stop"):
        columns[name] = np.concatenate([getattr(v, name) for v in views])
    for name, of in (("job", "jobs"), ("server", "servers"), ("state", "whole")):
        ends = np.cumsum([0, *(len(getattr(v, of)) for v in views[:-1])])
        columns[name] = np.concatenate([getattr(v, name) + e for v, e in zip(views, ends, strict=True)])
    right = np.concatenate([mark[:-1] for _, mark in decisions])
    stop = np.array([bool(mark[-1]) for _, mark in decisions])
    tensors = {name: t.from_numpy(column).to(device) for name, column in columns.items()}
    return View(**tensors), t.from_numpy(right).to(device), t.from_numpy(stop).to(device)


def attend_groups(values: Tensor, weight: Tensor, group: Tensor, count: int) -> Tensor:
    """Compute `plus_net.attend` in torch, with groups in any order."""
    t = torch_module()
    total = t.zeros(count, device=values.device).index_add(0, group, weight)
    attended = t.zeros((count, values.shape[1]), device=values.device).index_add(0, group, values * weight[:, None])
    return attended / total.clamp(min=1e-9)[:, None]


def log_sums_of_groups(values: Tensor, group: Tensor, count: int) -> Tensor:
    """log of the sum of exp(values) of each group."""
    t = torch_module()
    most = t.full((count,), -1e9, device=values.device).scatter_reduce(0, group, values.detach(), "amax")
    return most + t.zeros(count, device=values.device).index_add(0, group, (values - most[group]).exp()).log()


def _initial_weights(shape: tuple[int, ...]) -> Tensor:
    """Return uniform weights within 1 / sqrt(inputs), as in torch's new linear layers, and biases 0."""
    t = torch_module()
    if len(shape) == 1:
        return t.zeros(shape)
    return (2 * t.rand(shape) - 1) / shape[0] ** 0.5


def has_settled(params: PlusParams, curve: Sequence[Mapping[str, float]]) -> bool:
    """Return whether the learning rates have reached their end and the gap to exact answers has settled.

    The means of the validations in the last `span` iterations and in the `span` before differ by at most `flat` points
    of percent apart. That the network kept is within `gap` percent is asked for beside it (`Learner.validate`).
    """
    span = params.span
    if len(curve) < max(2 * span, params.imitation + params.own):
        return False
    parts = [[e["validation"] for e in part if "validation" in e] for part in (curve[-2 * span : -span], curve[-span:])]
    return all(parts) and bool(abs(float(np.mean(parts[1]) - np.mean(parts[0]))) <= params.flat)


def describe_data(params: PlusParams) -> Data:
    """Describe the data for the model card."""
    _, types, error = fitted_speed_model(params.interference, params.history)
    return {
        "models": list(types),
        "history": f"{params.history} jobs placed at random, interference {params.interference}, measured by the judge "
        "without noise",
        "history_error": round(error, 6),
        "answers": f"{params.questions} exact answers of up to 6 servers x 5 jobs, asked of the fitted model",
        "not tried on": "other types of job than these, noisy measurements, and what "
        "docs/results/trained-policies.md does not list",
    }
