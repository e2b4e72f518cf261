"""Free GPUs of each type, and the configurations that jobs use."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_rounds.instances.instance import Instance, Plan


class Room:
    """Free GPUs of the coming round."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.free = instance.capacity.copy()
        self.config = np.full(len(instance.remaining), -1, dtype=np.int64)

    def fits(self, job: int, config: int) -> bool:
        """Return whether the job waits and this configuration is free."""
        instance = self.instance
        free = self.free[instance.config_type[config]]
        return bool(self.config[job] < 0 and instance.config_gpus[config] <= free)

    def fitting(self, job: int) -> IntArray:
        """Return the configurations in which the job can run and that fit."""
        instance = self.instance
        return np.flatnonzero((instance.rate[job] > 0) & (instance.config_gpus <= self.free[instance.config_type]))

    def take(self, job: int, config: int) -> None:
        """Run the job in this configuration."""
        self.config[job] = config
        self.free[self.instance.config_type[config]] -= self.instance.config_gpus[config]

    def take_fastest(self, job: int) -> bool:
        """Run the job in its fastest configuration that fits, the first of equal ones; return False without one."""
        fitting = self.fitting(job)
        if not fitting.size:
            return False
        self.take(job, int(fitting[np.argmax(self.instance.rate[job, fitting])]))
        return True

    def take_in_order(self, jobs: IntArray, configs: IntArray) -> None:
        """Run each job of the pairs in its configuration, if that fits."""
        for job, config in zip(jobs.tolist(), configs.tolist(), strict=True):
            if self.fits(job, config):
                self.take(job, config)

    def fill_by_age(self) -> None:
        """Run waiting jobs in their fastest configurations that fit, the oldest first."""
        for job in np.argsort(-self.instance.age, kind="stable").tolist():
            if self.config[job] < 0:
                self.take_fastest(job)

    def plan(self) -> Plan:
        """Return the plan of the used configurations."""
        return Plan(config=self.config)
