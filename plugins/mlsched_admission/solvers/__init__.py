"""Exact solvers of the admission problem, verdicts on decisions, and changes that would start a job."""
