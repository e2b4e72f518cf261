"""Suites that measure answerers against proven optima, and the papers' experiments."""
