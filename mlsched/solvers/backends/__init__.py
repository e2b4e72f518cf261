"""How a single model is searched: CP-SAT and HiGHS within limits, in this process or in one of its own."""
