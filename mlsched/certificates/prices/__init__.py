"""Dual certificates: whatever shared capacity costs, the cheapest choices of all parts alone bound the whole.

Any prices prove a bound, so that a checker believes nothing of what it receives: it recomputes each part's cheapest
choice from the question itself. `integers.py` is what checkers count with.
"""
