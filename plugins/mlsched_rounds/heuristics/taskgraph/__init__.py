"""Schedulers of task graphs that ask rules of rounds who runs on which type."""
