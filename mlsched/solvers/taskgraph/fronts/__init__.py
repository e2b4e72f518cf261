"""What answers the sub-problems of fronts of task graphs."""
