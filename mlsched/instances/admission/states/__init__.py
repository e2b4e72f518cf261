"""A cluster's state, as real schedulers print it, made into an instance: one reader per system."""
