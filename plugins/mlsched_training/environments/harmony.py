"""`mlsched/Harmony-v0`: Harmony's decision process, intervals of a stream of jobs (Bao, Peng and Wu, 2019, Section IV).

An episode runs a workload in the placement world from its first arrival to its last completion. In every interval with
jobs that wait and room for one of their tasks, one action after the other places a task (2 M N' actions,
`simulation.placement.board`), until no action is valid: the jobs that are placed whole start, the others wait, and the
clock goes on to the next interval in which there is something to decide. The reward of the interval's
last action is Eq. 1, the sum of normalised speeds of all running jobs in the interval that begins; that of the actions
before it is 0 (the paper gives every action of the interval the reward of its end: `info["interval_reward"]`). Discount
rewards by `GAMMA` an action. An action that is not valid changes nothing.

What is seen, float32, in this order (N = N' + R slots: waiting jobs in arrival order, then running ones):

| part | shape | meaning |
|---|---|---|
| x of slot n | L | one-hot type of the job |
| r of slot n | 2 (1 + K) | workers it asks for (units of 3), demand of one in shares of a server; the same of PSs |
| w, p of slot n | 2 | its workers and PSs that are placed (units of 3) |
| v of server m | K | free share of each resource |
| d of server m | 2 N | workers and PSs of each slot there (units of 3) |

First all slots, each with its x, r, w and p, then all servers, each with its v and d. Demands of running jobs are 0:
what they hold is missing in v. Neither interference nor lengths of jobs are seen.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

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
#: Workloads are drawn by seeds from here on; those below are for tests and measurements.
FIRST_SEED = 1_000_000
#: The one row of an environment's board.
ONLY = np.array([0])
#: The two kinds of tasks, in the order of a board.
KINDS = ("workers", "PSs")
#: No feature is larger.
HIGHEST = 10.0


class HarmonyEnv(MaskedEnv):
    """One episode after the other.

    pattern, jobs, servers and further keywords: of the synthetic workloads (`uniform`, `poisson`, `google`), a new one
    every episode. new: N'. running: R, most jobs that run at once (0: as many as fit, two tasks per job).
    mask_observation, render_mode ("ansi"): see `MaskedEnv`.

    Actions, with M servers: (2 n + k) M + m puts a worker (k = 0) or a PS (k = 1) of waiting job n < N' on server m.

    Observation, with L types, K resources, A = L + 2 (1 + K) + 2 entries per slot and B = K + 2 N per server:

    | index | is |
    |---|---|
    | n A + l, l < L | 1: the job in slot n is of type l |
    | n A + L + k (1 + K) | workers (k = 0) or PSs (k = 1) that it asks for, in units of 3 |
    | n A + L + k (1 + K) + 1 + r | demand of one of them of resource r, share of a server |
    | n A + A - 2, n A + A - 1 | its workers and PSs that are placed, in units of 3 |
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
        example = self._draw(FIRST_SEED)
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
        self._declare(0, HIGHEST, mask_observation, render_mode)

    @property
    def action_names(self) -> list[str]:
        """What each action does."""
        shape = self._board.shape
        return [
            f"put a {kind} of waiting job {n} on server {m}"
            for n in range(shape.new)
            for kind in ("worker", "PS")
            for m in range(shape.servers)
        ]

    @property
    def observation_names(self) -> list[str]:
        """What each entry of an observation is."""
        shape = self._board.shape
        asked = [[f"{kind} asked for", *(f"demand of a {kind[:-1]} of {r}" for r in self._resources)] for kind in KINDS]
        each = [*(f"is {kind}" for kind in self._types), *asked[0], *asked[1], *(f"{kind} placed" for kind in KINDS)]
        slots = [f"slot {n}: {name}" for n in range(shape.slots) for name in each]
        there = [f"{kind} of slot {n}" for n in range(shape.slots) for kind in KINDS]
        of_server = [*(f"free {r}" for r in self._resources), *there]
        return [*slots, *(f"server {m}: {name}" for m in range(shape.servers) for name in of_server)]

    def _mask(self) -> Any:
        world = self.world
        assert world is not None, "reset first"
        valid = self._board.valid(ONLY)[0] if world.unfinished() else np.zeros(self._board.shape.actions, dtype=bool)
        return valid.astype(np.int8)

    def _text(self) -> str:
        world, board = self.world, self._board
        assert world is not None, "render: reset first"
        lines = [f"time {max(0, self._now)} s: {world.unfinished()} jobs are not finished"]
        for n in range(board.shape.slots):
            if board.kind[0, n] != NOBODY:
                (workers, ps), (of_workers, of_ps) = board.on[0, :, n].sum(axis=0).tolist(), board.asked[0, n].tolist()
                kind = f"{'waiting' if n < board.shape.new else 'running'} {self._types[int(board.kind[0, n])]}"
                lines.append(f"  slot {n}: {kind}, {workers} of {of_workers} workers, {ps} of {of_ps} PSs")
        return "\n".join(lines)

    def _draw(self, seed: int) -> Workload:
        """A workload of its own for every seed."""
        drawn: Workload = self._source(seed=seed, **self._sizes)
        return drawn

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin with a new workload."""
        super().reset(seed=seed, options=options)
        workload = self._draw(FIRST_SEED + int(self.np_random.integers(10**9)))
        shape = self._board.shape
        self.world = PlacementWorld(workload, Options(window=shape.new, most_jobs=shape.running))
        self._now = -1
        self._go_on(self.world)
        return self._seen(self._board.features(ONLY)[0]), self._info(self.world)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Place one task; when no more can be placed, let the interval pass."""
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
        seen = self._seen(self._board.features(ONLY)[0])
        return seen, reward, not world.unfinished(), False, self._info(world, reward)

    def _go_on(self, world: PlacementWorld) -> None:
        """Let intervals pass until there is something to decide, or nothing is left to do."""
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

    def _info(self, world: PlacementWorld, reward: float = 0.0) -> dict[str, Any]:
        return {"action_mask": self._mask(), "now_s": max(0, self._now), "interval_reward": reward}


def most_running(servers: int) -> int:
    """How many jobs of the paper's models can run at once: two tasks or more a job, four tasks per server."""
    return 2 * servers
