"""Recipes of the policies of the taskgraph problem."""
