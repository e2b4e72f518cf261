"""Victim selection as mathematics: the joint model and its reductions, for CP-SAT and as a MIP."""
