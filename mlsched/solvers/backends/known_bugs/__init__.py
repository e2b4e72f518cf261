"""Known-bug models: small models about which solvers were wrong, asked of those installed before they are believed."""
