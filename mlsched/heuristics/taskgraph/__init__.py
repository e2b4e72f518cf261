"""Rules for task graphs: they answer snapshots of a running cluster, one round at a time."""
