"""Allocation of cores by dynamic programming and by enumeration."""
