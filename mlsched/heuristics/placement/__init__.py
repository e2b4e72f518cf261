"""Rules that place workers and PSs one after another, and a local search."""
