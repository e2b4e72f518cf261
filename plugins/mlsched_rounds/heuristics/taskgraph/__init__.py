"""Schedulers of task graphs that choose GPU types by heuristics of rounds."""
