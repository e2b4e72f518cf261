"""Published heuristics of rounds: one heuristic per file."""
