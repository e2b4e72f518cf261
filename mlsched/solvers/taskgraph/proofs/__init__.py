"""Proofs that task graphs have no better plans."""
