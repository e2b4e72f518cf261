"""Allocation of cores as mathematics: the MIP, and the Lagrangian relaxation of the cores."""
