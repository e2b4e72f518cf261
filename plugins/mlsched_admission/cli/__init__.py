"""The command `mlsched judge`."""
