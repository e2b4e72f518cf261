"""Trained policies for placement."""
