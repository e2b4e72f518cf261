"""The errors that mlsched raises on purpose.

Every message is one line that says what is wrong, where, and what to do about it. The command line prints that line
and exits with status 2 (bad input) or 1 (the work ran, but something it checks failed); a traceback out of mlsched is
a bug in mlsched.
"""

from __future__ import annotations


class MlschedError(Exception):
    """Base class of every error that mlsched raises on purpose."""


class InvalidInput(MlschedError, ValueError):
    """The instance, plan, parameter or call is wrong: the message names field, value and rule."""


class InvalidFile(InvalidInput):
    """A file cannot be read as what it should be: the message names path, place (field or line), value and rule."""


class TooLarge(InvalidInput):
    """The instance is beyond what an exact algorithm or model takes: the message names the limit and who takes more."""


class UnknownName(InvalidInput, LookupError):
    """A problem, answerer, preset or the like that does not exist: the message lists those that do."""


class AnswererError(MlschedError):
    """An answerer broke its contract: it raised, returned no plan, an infeasible plan, or a bound the judge refutes."""


class SolverError(MlschedError):
    """A solver backend is missing, failed, or reported a status that must not be mistaken for an answer."""
