"""Certificates: optimality that anyone can check.

`<problem>/` states an instance as 0-1 formulas, from the problem's statement only, like the judge; `formula.py` defines
formulas. `engine.py` runs a solver that minimises them and logs its derivation. `elaborate.py` makes the log quick to
check, and `checker.py`, which is independent of mlsched, decides. `bundle.py` writes all of it to a folder and checks a
folder.

This package must not import `formulations/`: a mistake in a model must not be certified.
"""
