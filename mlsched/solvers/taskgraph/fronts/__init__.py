"""Solution of the sub-problems of task-graph fronts."""
