"""Admission as mathematics: one integer program, for CP-SAT and for HiGHS, with equal nodes merged."""
