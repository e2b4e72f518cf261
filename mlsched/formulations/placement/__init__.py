"""Placement as mathematics: configurations of servers, and the plain model."""
