"""Calls for task graphs only: references of logs, and decompositions of the gap to them."""
