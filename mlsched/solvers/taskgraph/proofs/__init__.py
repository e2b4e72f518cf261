"""What proves that task graphs have no better plans."""
