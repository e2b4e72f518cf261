"""Canaries: small models about which solvers were wrong, asked of the installed ones before these are believed."""
