"""Labels of GPUs inside nodes, for brute force: all distinct labellings up to renaming, and their feasibility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mlsched.instances.taskgraph import Instance, gpus


class Labels:
    """The needs of runs (task, iteration) for individual GPUs; fixed: run -> (node, start) of the started runs.

    need: per run, 0 if it has ended by now. parts: the runs that need a part of a GPU, fixed runs first. If a
    node's GPUs are one pool, all needs are 0.
    """

    def __init__(self, instance: Instance, runs: Sequence[tuple[int, int]], fixed: dict[int, tuple[int, int]]) -> None:
        self.unit = instance.gpu_unit
        need_at_node = (
            instance.demand[:, gpus.gpu_column(instance.resources)] if self.unit else np.zeros_like(instance.duration)
        )
        demand = need_at_node * (instance.duration > 0)
        over = {r for r, (_, start) in fixed.items() if start + instance.duration[runs[r][0]] <= instance.now}
        self.need = [0 if r in over else int(demand[k]) for r, (k, _) in enumerate(runs)]
        self._count = gpus.counts(instance).tolist()
        label_count = dict(zip(instance.fixed_task.tolist(), instance.fixed_gpu.tolist(), strict=True))
        self._given = [label_count[k] if r in fixed else -1 for r, (k, _) in enumerate(runs)]
        self._fixed = fixed
        parts = [r for r, need in enumerate(self.need) if 0 < need < self.unit]
        self.parts = sorted(parts, key=lambda r: r not in fixed)

    def labels(self, nodes: Sequence[int]) -> Iterator[list[int]]:
        """Yield a label for each run on its node, -1 without a need, in all ways that differ by more than names."""
        return self._extend_labels(nodes, list(self._given), 0)

    def _extend_labels(self, nodes: Sequence[int], labels_so_far: list[int], at: int) -> Iterator[list[int]]:
        """Yield the labellings of the parts from number `at` on; each label exists on the node, or is the next."""
        if at == len(self.parts):
            yield list(labels_so_far)
            return
        r = self.parts[at]
        if r in self._fixed:
            yield from self._extend_labels(nodes, labels_so_far, at + 1)
            return
        known_labels = {labels_so_far[u] for u in self.parts[:at] if nodes[u] == nodes[r]}
        fresh = [g for g in range(self._count[nodes[r]]) if g not in known_labels][:1]
        for labels_so_far[r] in [*sorted(known_labels), *fresh]:
            yield from self._extend_labels(nodes, labels_so_far, at + 1)

    def suffice(self, node: int, runs: Sequence[int], labels: Sequence[int]) -> bool:
        """Return whether the GPUs of a node suffice for these runs at once."""
        whole, parts = 0, dict.fromkeys((labels[r] for r in runs if 0 < self.need[r] < self.unit), 0)
        for r in runs:
            if 0 < self.need[r] < self.unit:
                parts[labels[r]] += self.need[r]
            elif self.need[r]:
                whole += self.need[r] // self.unit
        return whole + len(parts) <= self._count[node] and all(use <= self.unit for use in parts.values())
