"""Allocation of cores as dynamic programming and MIP, and by enumeration."""
