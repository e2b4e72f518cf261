"""Task graphs to optimality: the order of steps, and what each of them does in the folders below."""
