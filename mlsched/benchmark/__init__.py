"""Suites that measure solvers against proven optima, with reports and collections."""
