"""SLAQ's rules and those it is compared with."""
