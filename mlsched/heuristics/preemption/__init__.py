"""FitGpp and its baselines."""
