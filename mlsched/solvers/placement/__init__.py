"""Exact placement: configuration search from the top, by CP-SAT and HiGHS, and enumeration."""
