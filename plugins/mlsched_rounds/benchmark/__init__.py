"""The plain model of rounds, used by benchmarks."""
