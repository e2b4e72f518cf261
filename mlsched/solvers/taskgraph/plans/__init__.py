"""What finds plans of task graphs."""
