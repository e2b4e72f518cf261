"""What benchmarks need of rounds: the plain model."""
