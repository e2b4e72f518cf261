"""Recipes of the policies for placement."""
