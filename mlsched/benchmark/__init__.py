"""Suites that measure solvers against proven optima, and the papers' experiments."""
