"""Commands, and parts of commands, for task graphs only."""

from __future__ import annotations

from mlsched.cli.taskgraph.reference import reference

COMMANDS = (reference,)
