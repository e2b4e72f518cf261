"""Trained policies of the workers problem: Chic, Chic-Pair and Chic-plus."""
