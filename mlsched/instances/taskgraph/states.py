"""What a task may be doing in its job's current iteration, as a snapshot numbers it."""

from __future__ import annotations

#: The values of `Snapshot.state`.
WAITING, RUNNING, PAUSED, DONE = range(4)
#: What a task in each of these states does, for a sentence that begins with the task.
STATES = ("waits", "runs", "is paused", "is done")
