"""States of a task in its job's current iteration, as numbered in a snapshot."""

from __future__ import annotations

#: The values of `Snapshot.state`.
WAITING, RUNNING, PAUSED, DONE = range(4)
#: Predicate of each state, for a sentence that begins with the task.
STATES = ("waits", "runs", "is paused", "is done")
