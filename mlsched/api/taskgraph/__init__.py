"""What people ask of task graphs alone: references of logs, and of what the distance from them is made."""
