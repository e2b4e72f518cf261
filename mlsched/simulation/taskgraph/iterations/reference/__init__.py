"""Reference schedules: our best schedule of a complete log in hindsight, without pauses, node by node.

`question.py` has the constraints of a schedule, `board.py` the free amounts of each node at each tick. `listed.py`
makes a schedule from the starts suggested by prices, and `neighbourhood.py` improves it.
"""
