"""Published rules, one file per rule: `heuristics/<problem>/<rule>.py`."""
