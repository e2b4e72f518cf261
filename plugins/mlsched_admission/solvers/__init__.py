"""Exact answers to the admission problem, verdicts on decisions, and what it would take to start a job."""
