"""What benchmarks need of admission: the plain model."""
