"""Loss curves of training jobs: families, held windows, fits, and predictions."""
