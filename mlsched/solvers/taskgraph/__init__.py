"""Exact task-graph scheduling: the sequence of steps; the folders below contain the steps."""
