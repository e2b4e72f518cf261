"""Recipes of the workers problem's policies."""
