"""Victim selection as CP-SAT and MIP, and by enumeration."""
