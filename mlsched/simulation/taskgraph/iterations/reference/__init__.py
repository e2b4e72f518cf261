"""Reference schedules: the best that we can find for a whole log in hindsight, without pauses, node by node.

`question.py` is what of a workload a schedule must respect, `board.py` what is free on each node at each tick,
`listed.py` makes a schedule from the starts that prices suggest, and `neighbourhood.py` improves it.
"""
