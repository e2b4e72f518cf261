"""Harmony's sample workers in several processes, with synchronous gradients (Section VI-A), over torch.distributed.

The clusters are divided among `processes` processes on this machine. Each has its own networks, Adam, clusters and
replay buffer. In every step of Adam, their gradients are added up (gloo's all-reduce), weighted by each process's
clusters, so all networks stay equal to the bit. The first process validates, writes checkpoints, has the live clusters,
and directs the others. They start and end with a training. The seed and the number of processes determine the weights.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.errors import InvalidInput
from mlsched_training._torch import Tensor, repeatable_numbers, torch_module
from mlsched_training.placement._harmony import ActorCritic, HarmonyParams

#: Seconds that the processes have to find each other.
START = 120
#: Longest wait for another process; a validation may take long.
PATIENCE = datetime.timedelta(days=30)


class Group:
    """The processes of a training, as one of them sees it."""

    def __init__(self, folder: str, rank: int, processes: int, workers: int) -> None:
        self.distributed, self.rank = torch_module().distributed, rank
        #: Clusters of this process, and their share of all.
        self.workers = len(np.array_split(np.arange(workers), processes)[rank])
        self.share = self.workers / workers
        store = self.distributed.FileStore(str(Path(folder) / "store"), processes)
        store.set_timeout(datetime.timedelta(seconds=START))
        self.distributed.init_process_group("gloo", store=store, rank=rank, world_size=processes, timeout=PATIENCE)

    def add(self, gradients: list[Tensor]) -> None:
        """Make each gradient the sum over all processes, by their shares."""
        flat = torch_module().cat([gradient.flatten() for gradient in gradients]).cpu() * self.share
        self.distributed.all_reduce(flat)
        for gradient, summed in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(summed.reshape(gradient.shape))

    def mean(self, figures: Mapping[str, float]) -> dict[str, float]:
        """Return the mean of each figure over all clusters."""
        values = torch_module().tensor(list(figures.values()), dtype=torch_module().float64) * self.share
        self.distributed.all_reduce(values)
        return dict(zip(figures, values.tolist(), strict=True))

    def told(self, what: Any = None) -> Any:
        """Send the first process's message to all processes and return it; the others pass None."""
        message = [what]
        self.distributed.broadcast_object_list(message)
        return message[0]


class Together(ActorCritic):
    """The first of several processes that train one Harmony; the others end with its `with` block."""

    def __init__(self, params: HarmonyParams, seed: int, device: str) -> None:
        if torch_module().distributed.is_initialized():
            raise InvalidInput("processes: this process has a group of torch.distributed open; train in another one")
        super().__init__(params, seed, device)
        folder = tempfile.mkdtemp()
        settings = {"params": dataclasses.asdict(params), "seed": seed, "device": device}
        (Path(folder) / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        call = [sys.executable, "-m", __name__, folder]
        others = [subprocess.Popen([*call, str(rank)]) for rank in range(1, params.processes)]
        try:
            self.group = self._led = Group(folder, 0, params.processes, params.workers)
        except BaseException:
            _kill_processes(others)
            shutil.rmtree(folder)
            raise
        self._over = weakref.finalize(self, _end_processes, self.group, others, folder)

    def __enter__(self) -> Together:
        return self

    def __exit__(self, *_: object) -> None:
        """End the other processes after the training."""
        self._over()

    def improve(self, iteration: int) -> dict[str, float]:
        """Run an interval of every cluster of every process, and one step of Adam."""
        self._led.told(("improve", iteration))
        return super().improve(iteration)

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state` in all processes."""
        self._led.told(("restore", state))
        super().restore(state)
        self._share_reward_model()


def _end_processes(group: Group, others: list[subprocess.Popen[bytes]], folder: str) -> None:
    """End the other processes, whose state is also here."""
    _kill_processes(others)
    group.distributed.destroy_process_group()
    shutil.rmtree(folder)


def _kill_processes(others: list[subprocess.Popen[bytes]]) -> None:
    for other in others:
        other.terminate()
        other.wait()


def follow(folder: str, rank: int) -> None:
    """Run another process than the first: follow its messages until it ends this process."""
    settings = json.loads((Path(folder) / "settings.json").read_text(encoding="utf-8"))
    params = HarmonyParams(**settings["params"])
    with repeatable_numbers():
        group = Group(folder, rank, params.processes, params.workers)
        learner = ActorCritic(params, settings["seed"], settings["device"], group)
        while True:
            what, of = group.told()
            if what == "improve":
                learner.improve(of)
            else:
                learner.restore(of)
                learner._share_reward_model()


if __name__ == "__main__":
    follow(sys.argv[1], int(sys.argv[2]))
