"""SLAQ's rules and their baselines."""
