"""Plain CP-SAT models, one file a problem, as a user of OR-Tools would write them from the statement.

Each module has `build(instance, objective)`, which returns the model and a function that reads the plan off a solver.
They know none of the library's bounds, reductions or symmetries, and are what its defaults are held against.
"""
