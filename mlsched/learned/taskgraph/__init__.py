"""Trained policies of the taskgraph problem: MLF-RL, MLFS and the device placement of Mirhoseini et al."""
