"""Allocation of cores as MIP, and its Lagrangian relaxation."""
