"""Published rules of rounds: one rule per file."""
