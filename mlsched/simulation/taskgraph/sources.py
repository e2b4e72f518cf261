"""Where task-graph workloads come from."""
SOURCES = {}
def from_trace(trace, nodes, *, seed: int = 0):
    raise NotImplementedError
