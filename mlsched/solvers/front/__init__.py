"""Complete, certified Pareto fronts of any integer model."""

from mlsched.solvers.front.enumerate import METHODS, enumerate_front
from mlsched.solvers.front.result import Box, Front

__all__ = ["METHODS", "Box", "Front", "enumerate_front"]
