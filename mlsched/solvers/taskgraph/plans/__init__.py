"""Search for plans of task graphs."""
