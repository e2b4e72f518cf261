"""Exact answers to placement: the configuration search from the top, by CP-SAT and HiGHS, and enumeration."""
