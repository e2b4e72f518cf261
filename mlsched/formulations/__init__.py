"""Mathematical models of the problems, with bounds and prices; this package does not start solvers or processes."""
