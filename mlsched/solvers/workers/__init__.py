"""Workers and PSs of jobs: dynamic programming, reduced models, enumeration, and the clairvoyant optimum."""
