"""The questions as mathematics: models, bounds and prices. Nothing here starts a solver, a thread or a process."""
