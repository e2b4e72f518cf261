"""Task graphs as mathematics: the task-level model, the moulded variant, and bounds."""
