"""Commands and parts of commands about task graphs alone."""
