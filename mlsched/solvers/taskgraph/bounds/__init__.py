"""Tighter bounds of task graphs from small subproblems."""
