"""Exact answers to the rounds question, and the linear programs of shares that published policies solve."""
