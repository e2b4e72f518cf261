"""Published rules, one file a rule: `heuristics/<problem>/<rule>.py`."""
