"""Known-bug models: small models on which solvers were wrong, as tests of the installed solvers."""
