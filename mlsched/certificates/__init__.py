"""Certificates: optimality that anyone can check.

`<problem>/` states an instance as 0-1 formulas, from the problem's statement alone, as the judge does; `formula.py` is
what they are made of. `engine.py` has them minimised by a solver that logs what it derives, `elaborate.py` makes its
log quick to check, and `checker.py`, which needs nothing of mlsched, decides. `bundle.py` writes all of it to a folder
and checks a folder.

This floor lies beside `formulations/`, which it must not import: a mistake in a model must not be certified.
"""
