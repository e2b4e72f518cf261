"""Lower bounds for a whole run: what no scheduler can beat, whatever it knows and however often it preempts.

A problem says what its jobs ask for as `Pieces`; `lower_bounds` proves from them how small the sum of completion times
and the makespan can be at best. Schedulers may know the future, stop and move jobs at any time and for nothing; they
must do every job's least work at no more than its speed, and never hold more than the cluster has.
"""

from mlsched.simulation.bound.parts import PARTS, lower_bounds, total_jct_parts
from mlsched.simulation.bound.pieces import Pieces, with_halves

__all__ = ["PARTS", "Pieces", "lower_bounds", "total_jct_parts", "with_halves"]
