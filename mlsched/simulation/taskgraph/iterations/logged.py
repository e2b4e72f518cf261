"""Columns of a workload from its log: runs, names for people, and failures of nodes."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.fields import EXACT, UNLIMITED, IntArray, array, integer, labels, refuse_falling, refuse_first
from mlsched.core.record import Record


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LoggedRuns(Record):
    """Logged runs with their nodes, and the log's clock."""

    status: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="how each job ended in the log")
    status_names: tuple[str, ...] = labels("statuses", default=(), doc="name of each, for people")
    origin_ms: int = integer(
        low=-EXACT, default=0, doc="when tick 0 is on the log's clock, ms since 1970 or its own zero"
    )
    clock: int = integer(high=3, default=0, doc="of the log: 0 not known, 1 numbers, 2 dates, 3 dates with a zone")
    rate_ppm: int = integer(low=1, default=10**6, doc="arrivals come so many times as fast as in the log, ppm")
    made_for_load: int = integer(high=1, default=0, doc="1: nodes made for a load, which the log's own run may exceed")
    submit_ms: IntArray = array("jobs", low=-1, fill=-1, doc="submit as logged, ms after `origin_ms`")
    logged_job: IntArray = array("runs", low=-1, fill=-1, doc="job of each run as logged, non-decreasing")
    logged_start: IntArray = array("runs", low=-EXACT, fill=-EXACT, doc="when it began, ms after `origin_ms`")
    logged_end: IntArray = array("runs", low=-EXACT, fill=-EXACT, doc="when it ended, likewise")
    place_run: IntArray = array("places", low=-1, fill=-1, doc="a node of a logged run: which run")
    place_name: IntArray = array("places", low=-2, fill=-2, doc="which of `place_names`, -1: none is said")
    place_gpus: IntArray = array("places", low=-2, fill=-2, doc="1/1000 GPUs that the run held there, -1: not said")
    place_names: tuple[str, ...] = labels("hosts", default=(), doc="nodes as the log calls them")

    def check_logged(self) -> None:
        """Check that the log's runs name jobs, runs and hosts that exist."""
        jobs, runs, hosts = len(self.submit_ms), len(self.logged_job), len(self.place_names)
        refuse_falling("logged_job", self.logged_job)
        refuse_first(
            (self.logged_job < 0) | (self.logged_job >= jobs), "logged_job", self.logged_job, f"expected below {jobs}"
        )
        early = self.logged_end <= self.logged_start
        refuse_first(early, "logged_end", self.logged_end, "expected after logged_start")
        wrong = (self.place_run < 0) | (self.place_run >= runs)
        refuse_first(wrong, "place_run", self.place_run, f"expected below {runs}")
        wrong = (self.place_name < -1) | (self.place_name >= hosts)
        refuse_first(wrong, "place_name", self.place_name, f"expected below {hosts}")
        refuse_first(self.place_gpus < -1, "place_gpus", self.place_gpus, "expected at least -1")
        if runs:
            refuse_first(self.submit_ms < 0, "submit_ms", self.submit_ms, "expected known where runs are logged")

    def runs_of(self, kept: IntArray) -> dict[str, IntArray]:
        """Return the columns of the runs and places of these jobs only, with new job numbers."""
        rank = np.full(len(self.submit_ms), -1)
        rank[kept] = np.arange(len(kept))
        runs = np.flatnonzero(rank[self.logged_job] >= 0)
        number = np.full(len(self.logged_job), -1)
        number[runs] = np.arange(len(runs))
        places = np.flatnonzero(number[self.place_run] >= 0)
        return (
            {"logged_job": rank[self.logged_job][runs], "place_run": number[self.place_run][places]}
            | {name: getattr(self, name)[runs] for name in ("logged_start", "logged_end")}
            | {name: getattr(self, name)[places] for name in ("place_name", "place_gpus")}
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Names(Record):
    """Groups and partitions of jobs, and optional names for people."""

    job_names: tuple[str, ...] = labels("jobs", default=(), doc="name of each job, for people; may be left out")
    user_names: tuple[str, ...] = labels("users", default=(), doc="name of each user, for people; may be left out")
    group: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="group that each job belongs to")
    group_names: tuple[str, ...] = labels("groups", default=(), doc="name of each group, for people")
    partition: IntArray = array("jobs", high=UNLIMITED, fill=0, doc="partition that each job asked for")
    partition_names: tuple[str, ...] = labels("partitions", default=(), doc="name of each, for people")
    node_names: tuple[str, ...] = labels("nodes", default=(), doc="name of each node, for people")
    type_names: tuple[str, ...] = labels("types", default=(), doc="name of each type of nodes, for people")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Failures(Record):
    """Failures of nodes, and the times of their return."""

    failure_node: IntArray = array("failures", low=-1, high=UNLIMITED, fill=-1, doc="a node that fails")
    failure_from: IntArray = array("failures", low=-1, high=UNLIMITED, fill=-1, doc="from when on, ticks")
    failure_to: IntArray = array(
        "failures", low=-1, high=UNLIMITED, fill=-1, doc="when it is back, ticks; UNLIMITED: never"
    )

    def check_failures(self, nodes: int) -> None:
        """Check that failures are of nodes that exist, and end after they begin."""
        wrong = (self.failure_node < 0) | (self.failure_node >= nodes)
        refuse_first(wrong, "failure_node", self.failure_node, f"expected below {nodes}")
        refuse_first(self.failure_from < 0, "failure_from", self.failure_from, "expected at least 0")
        refuse_first(self.failure_to <= self.failure_from, "failure_to", self.failure_to, "expected after failure_from")
