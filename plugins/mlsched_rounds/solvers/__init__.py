"""Exact solvers of the rounds problem, and the linear programs of published share policies."""
