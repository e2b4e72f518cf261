"""A scheduler for mlsched, in a package of its own."""
