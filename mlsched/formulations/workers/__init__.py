"""Workers and PSs of jobs as a multiple-choice knapsack: its columns, its models, and what prices prove of it."""
