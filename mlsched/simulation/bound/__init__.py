"""Lower bounds for a complete run, valid for every scheduler with any information and any preemptions.

A problem describes the least demand of its jobs as `Pieces`; `lower_bounds` derives lower bounds on the sum of
completion times and on the makespan. Schedulers may know the future, and stop and move jobs at any time without cost.
They must do every job's least work at no more than its speed, and never use more than the capacity.
"""

from mlsched.simulation.bound.parts import PARTS, lower_bounds, total_jct_parts
from mlsched.simulation.bound.pieces import Pieces, with_halves

__all__ = ["PARTS", "Pieces", "lower_bounds", "total_jct_parts", "with_halves"]
