"""The questions as mathematics: models for the solvers, and exact algorithms of our own. One file a formulation."""
