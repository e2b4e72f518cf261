"""Commands and parts of commands about task graphs alone."""

from __future__ import annotations

from mlsched.cli.taskgraph.reference import reference

COMMANDS = (reference,)
