"""Rules that choose the numbers of workers and PSs of each job."""
