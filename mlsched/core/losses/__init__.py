"""Loss curves of training jobs: their families, windows of them that are seen, fits, and predictions from fits."""
