"""Workers and PSs of jobs as dynamic programming, for CP-SAT, as MIP, and by enumeration."""
