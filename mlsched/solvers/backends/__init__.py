"""Solution of a single model: CP-SAT and HiGHS within limits, in this process or in a separate process."""
