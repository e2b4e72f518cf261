"""Decisions of real schedulers, from the state of their cluster: Kueue, KAI and the Kubernetes scheduler."""
