"""`mlsched/Harmony-v0`: Harmony's decision process, intervals of a stream of jobs (Bao, Peng and Wu, 2019, Section IV).

An episode runs a workload in the placement simulator from its first arrival to its last completion. In every interval
with waiting jobs and space for one of their tasks, actions place one task each (2 M N' actions,
`simulation.placement.board`) until no action is valid. Completely placed jobs then start, the others wait, and the
clock advances to the next interval with a decision. The reward of the interval's last action is Eq. 1, the sum of
normalised speeds of all running jobs in the following interval. Earlier actions have reward 0. The paper gives every
action of the interval the reward of its end, which is `info["interval_reward"]`. Discount rewards by `GAMMA` per
action. An invalid action has no effect.

Observations are float32 in this order (N = N' + R slots: waiting jobs in arrival order, then running jobs):

| part | shape | meaning |
|---|---|---|
| x of slot n | L | one-hot type of the job |
| r of slot n | 2 (1 + K) | requested workers (units of 3), demand of one in shares of a server; the same for PSs |
| w, p of slot n | 2 | its placed workers and PSs (units of 3) |
| v of server m | K | free share of each resource |
| d of server m | 2 N | workers and PSs of each slot there (units of 3) |

All slots come first, each with its x, r, w and p, then all servers, each with its v and d. Demands of running jobs are
0, because v excludes their resources. Observations contain neither interference nor lengths of jobs.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Range, check_choice
from mlsched.simulation.placement.board import NOBODY, Board, Shape
from mlsched.simulation.placement.options import Options
from mlsched.simulation.placement.synthetic import SOURCES
from mlsched.simulation.placement.workload import Workload
from mlsched.simulation.placement.world import PlacementWorld
from mlsched.simulation.wake import Wake
from mlsched_training.environments._base import MaskedEnv

#: Discount factor (Section VI-A).
GAMMA = 0.9
#: First seed of drawn workloads; smaller seeds are reserved for tests and measurements.
FIRST_SEED = 1_000_000
#: The only row of an environment's board.
ONLY = np.array([0])
#: The two kinds of tasks, in the order of a board.
KINDS = ("workers", "PSs")
#: Greatest value of a feature.
HIGHEST = 10.0


class HarmonyEnv(MaskedEnv):
    """Environment of one episode after another.

    `pattern`, `jobs`, `servers` and further keywords are options of the synthetic workloads (`uniform`, `poisson`,
    `google`), with a new workload every episode. `new` is N'. `running` is R, the greatest number of jobs that run at
    the same time (0: all that fit with two tasks per job). `mask_observation` and `render_mode` ("ansi") are as in
    `MaskedEnv`.

    Actions, with M servers: (2 n + k) M + m puts a worker (k = 0) or a PS (k = 1) of waiting job n < N' on server m.

    Observation, with L types, K resources, A = L + 2 (1 + K) + 2 entries per slot and B = K + 2 N per server:

    | index | value |
    |---|---|
    | n A + l, l < L | 1: the job in slot n is of type l |
    | n A + L + k (1 + K) | requested workers (k = 0) or PSs (k = 1), in units of 3 |
    | n A + L + k (1 + K) + 1 + r | demand of one of them of resource r, share of a server |
    | n A + A - 2, n A + A - 1 | its placed workers and PSs, in units of 3 |
    | N A + m B + r | free share of resource r of server m |
    | N A + m B + K + 2 n + k | workers or PSs of slot n on server m, in units of 3 |
    """

    @validate_arguments
    def __init__(
        self,
        pattern: str = "uniform",
        jobs: int = 60,
        servers: int = 6,
        new: int = 6,
        running: Annotated[int, Range(0, 10**4)] = 0,
        mask_observation: bool = False,
        render_mode: str | None = None,
        **sizes: Any,
    ) -> None:
        check_choice("pattern", pattern, tuple(SOURCES))
        self._source, self._sizes = SOURCES[pattern], {"jobs": jobs, "servers": servers, **sizes}
        example = self._workload_of_seed(FIRST_SEED)
        shape = Shape(
            types=len(example.types),
            servers=servers,
            resources=len(example.resources),
            new=new,
            running=running or most_running(servers),
        )
        self._board, self._kinds = Board(shape, 1, example.apart), np.arange(shape.types)
        self._types, self._resources = example.types, example.resources
        self._wake = Wake.parse("interval:1200")
        self.world: PlacementWorld | None = None
        self._declare_spaces(0, HIGHEST, mask_observation, render_mode)

    @property
    def action_names(self) -> list[str]:
        """Return descriptions of the actions, in order."""
        shape = self._board.shape
        return [
            f"put a {kind} of waiting job {n} on server {m}"
            for n in range(shape.new)
            for kind in ("worker", "PS")
            for m in range(shape.servers)
        ]

    @property
    def observation_names(self) -> list[str]:
        """Return the names of the entries of an observation, in order."""
        shape = self._board.shape
        request_names = [
            [f"{kind} asked for", *(f"demand of a {kind[:-1]} of {r}" for r in self._resources)] for kind in KINDS
        ]
        each = [
            *(f"is {kind}" for kind in self._types),
            *request_names[0],
            *request_names[1],
            *(f"{kind} placed" for kind in KINDS),
        ]
        slots = [f"slot {n}: {name}" for n in range(shape.slots) for name in each]
        there = [f"{kind} of slot {n}" for n in range(shape.slots) for kind in KINDS]
        of_server = [*(f"free {r}" for r in self._resources), *there]
        return [*slots, *(f"server {m}: {name}" for m in range(shape.servers) for name in of_server)]

    def _action_mask(self) -> Array:
        world = self.world
        assert world is not None, "reset first"
        valid = self._board.valid(ONLY)[0] if world.unfinished() else np.zeros(self._board.shape.actions, dtype=bool)
        return valid.astype(np.int8)

    def _state_as_text(self) -> str:
        world, board = self.world, self._board
        assert world is not None, "render: reset first"
        lines = [f"time {max(0, self._now)} s: {world.unfinished()} jobs are not finished"]
        for n in range(board.shape.slots):
            if board.kind[0, n] != NOBODY:
                (workers, ps), (of_workers, of_ps) = board.on[0, :, n].sum(axis=0).tolist(), board.asked[0, n].tolist()
                kind = f"{'waiting' if n < board.shape.new else 'running'} {self._types[int(board.kind[0, n])]}"
                lines.append(f"  slot {n}: {kind}, {workers} of {of_workers} workers, {ps} of {of_ps} PSs")
        return "\n".join(lines)

    def _workload_of_seed(self, seed: int) -> Workload:
        """Return the workload of a seed."""
        workload: Workload = self._source(seed=seed, **self._sizes)
        return workload

    def reset(self, *, seed: int | None = None, options: Data | None = None) -> tuple[Any, Data]:
        """Begin with a new workload."""
        super().reset(seed=seed, options=options)
        workload = self._workload_of_seed(FIRST_SEED + int(self.np_random.integers(10**9)))
        shape = self._board.shape
        self.world = PlacementWorld(workload, Options(window=shape.new, most_jobs=shape.running))
        self._now = -1
        self._go_on(self.world)
        return self._with_mask(self._board.features(ONLY)[0]), self._step_info(self.world)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Data]:
        """Place one task; if no further task can be placed, advance to the next interval."""
        world = self.world
        if world is None or not world.unfinished():
            raise InvalidInput("step: the episode is over; reset begins the next")
        number, reward = self._index_of(action), 0.0
        if self._board.valid(ONLY)[0, number]:
            self._board.act(ONLY, np.array([number]))
            if not self._board.valid(ONLY).any():
                world.apply(self._board.plan(self._asked))
                reward = world.total_speed / 1e6
                self._go_on(world)
        observation = self._with_mask(self._board.features(ONLY)[0])
        return observation, reward, not world.unfinished(), False, self._step_info(world, reward)

    def _go_on(self, world: PlacementWorld) -> None:
        """Advance to the next interval with a decision, or to the end."""
        while world.unfinished():
            time = self._wake.next(self._now, world.next_event(), world.pending())
            assert time is not None, "every job fits the empty servers"
            self._now = time
            world.advance(time)
            while (question := world.ask()) is not None:
                self._board.read(question, self._kinds)
                self._asked = question
                if self._board.valid(ONLY).any():
                    return
                world.apply(self._board.plan(question))

    def _step_info(self, world: PlacementWorld, reward: float = 0.0) -> Data:
        return {"action_mask": self._action_mask(), "now_s": max(0, self._now), "interval_reward": reward}


def most_running(servers: int) -> int:
    """Return how many of the paper's jobs can run at once, with at least two tasks per job and four per server."""
    return 2 * servers
