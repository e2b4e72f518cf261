"""Rounds, a plug-in of mlsched: choose the GPU type and GPU count of each job for the coming round.

It contains the problem `rounds` (Gavel, Shockwave, Sia, AlloX), its solvers and simulator, and the schedulers of task
graphs that use its heuristics.
"""
