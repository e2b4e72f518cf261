"""Workers and PSs of jobs as mathematics: the columns of each job, the knapsack over them, and what prices prove."""
