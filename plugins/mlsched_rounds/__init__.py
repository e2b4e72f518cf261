"""Rounds, a plug-in of mlsched: who runs on which type of GPU, and on how many, in the coming round.

The problem `rounds` of Gavel, Shockwave, Sia and AlloX with all that answers it, its simulator, and the schedulers of
task graphs that ask its rules.
"""
