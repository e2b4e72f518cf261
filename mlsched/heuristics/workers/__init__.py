"""Rules that decide how many workers and PSs each job gets."""
