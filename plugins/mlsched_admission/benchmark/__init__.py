"""The plain model of admission, used by benchmarks."""
