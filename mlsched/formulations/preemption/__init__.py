"""Victim selection as CP-SAT and MIP."""
