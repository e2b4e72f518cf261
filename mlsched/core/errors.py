"""The errors that mlsched raises on purpose.

Every message is one line that says what is wrong, where, and what to do about it. The command line prints that line
and exits with status 2 (bad input) or 1 (the work ran, but something it checks failed); a traceback out of mlsched is
a bug in mlsched.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable
from pathlib import Path

#: Most characters of a message; what is longer is cut in its middle, so that place and remedy stay.
LONGEST = 300
#: Folders of code that is not the user's own: mlsched's, and those of Python and of installed packages.
_OTHERS = (
    str(Path(__file__).resolve().parent.parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)


def shortened(text: str, most: int = 60) -> str:
    """A piece of a message that came from outside, at most so long: its beginning and its end."""
    if len(text) <= most:
        return text
    head = (most - 5) * 2 // 3
    return f"{text[:head]} ... {text[len(text) - (most - 5 - head) :]}"


def one_line(message: str, most: int = LONGEST) -> str:
    """`message` as one line of at most so many characters."""
    text = shortened(message, most)
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))


def said(error: BaseException) -> str:
    """An exception of somebody else's as its kind, its text, which may itself fail, and its place in their code."""
    place = place_of(error)
    where = f" ({place})" if place else ""
    try:
        return f"{type(error).__name__}: {shortened(str(error), LONGEST // 2)}{where}"
    except BaseException as failure:
        return f"{type(error).__name__}, whose text cannot be shown ({type(failure).__name__}){where}"


def place_of(error: BaseException) -> str:
    """ "my_rules.py, line 12": the last line of somebody else's own code that an exception came through; "" for none.

    Neither mlsched's files nor installed packages are: what a user can mend is shown.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}, line {error.lineno}"
    found, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_OTHERS) and not file.startswith("<frozen"):
            found = f"{Path(file).name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def a_or_an(noun: str) -> str:
    """The noun with its article, by its first letter: "an int", "a preemption.plan"."""
    return f"{'an' if noun[:1].lower() in ('a', 'e', 'i', 'o') else 'a'} {noun}"


def meant(name: str, known: Iterable[str]) -> str:
    """ " (did you mean 'fitgpp'?)", the known name that `name` most resembles; "" where none does."""
    import difflib

    close = difflib.get_close_matches(str(name)[:LONGEST].lower(), list(known), n=1, cutoff=0.7)
    return f" (did you mean '{close[0]}'?)" if close else ""


class MlschedError(Exception):
    """Base class of every error that mlsched raises on purpose. Its message is one line of at most `longest` signs.

    Examples:
        >>> try:
        ...     mlsched.load("nothing.json")
        ... except mlsched.MlschedError as error:
        ...     print(error)
        nothing.json: there is no such file; check the path
    """

    longest = LONGEST

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message), self.longest))


class InvalidInput(MlschedError, ValueError):
    """The instance, plan, parameter or call is wrong: the message names field, value and rule.

    Examples:
        >>> mlsched.generate("quality", "small", seed=-1)
        Traceback (most recent call last):
        mlsched.core.errors.InvalidInput: seed = -1: must be at least 0
    """


class InvalidFile(InvalidInput):
    """A file cannot be read as what it should be: the message names path, place (field or line), value and rule.

    Examples:
        >>> mlsched.load("nothing.json")
        Traceback (most recent call last):
        mlsched.core.errors.InvalidFile: nothing.json: there is no such file; check the path
    """


class TooLarge(InvalidInput):
    """The instance is beyond what an exact algorithm, a model or a trained policy takes.

    The message names the limit and who takes more.
    """


class UnknownName(InvalidInput, LookupError):
    """A problem, solver, preset or the like that does not exist: the message lists those that do.

    Examples:
        >>> mlsched.solve(mlsched.generate("quality", "small"), "slack")
        Traceback (most recent call last):
        mlsched.core.errors.UnknownName: no solver 'slack' for quality (did you mean 'slaq'?); there are ...
    """

    def __init__(self, message: object = "") -> None:
        what, there_are, names = str(message).partition("; there are ")
        what = shortened(what, LONGEST // 2)
        super().__init__(what + there_are + _first_of(names, LONGEST - len(what + there_are)))


def _first_of(names: str, most: int) -> str:
    """A list of names in at most so many characters: whole names, and how many more there are."""
    if len(names) <= most:
        return names
    kept = names[: most - len(", and 99999 more")].rpartition(", ")[0]
    return f"{kept}, and {names.count(', ') - kept.count(', ')} more"


class SolverError(MlschedError):
    """A solver broke its contract: it raised, returned no plan, an infeasible plan, or a bound the judge refutes.

    Examples:
        >>> mlsched.solve(mlsched.generate("quality", "small"), lambda instance, *, rng: None)
        Traceback (most recent call last):
        mlsched.core.errors.SolverError: <lambda> returned no plan; a rule must return a quality.plan
    """


class Stuck(SolverError):
    """A simulated run can no longer proceed: jobs wait, the solver serves none, and nothing will happen by itself."""


class Contradiction(SolverError):
    """Two engines contradict each other about one question: the message says how, and which file has both answers."""

    longest = 600  # it says who said what, and where it is written


class RuleFailure(SolverError):
    """A solver that ended without an answer, or tampered with the question.

    `how`: "crash" (its process ended), "timeout", "memory" (it took more than its limit) or "cheated" (it changed the
    instance by which it is judged).
    """

    def __init__(self, message: object = "", how: str = "crash") -> None:
        super().__init__(message)
        self.how = how

    def __reduce__(self) -> tuple[type[RuleFailure], tuple[str, str]]:
        return type(self), (str(self), self.how)


class BackendError(MlschedError):
    """A solver backend is missing, failed, or reported a status that must not be mistaken for an answer.

    Examples:
        >>> issubclass(mlsched.BackendError, mlsched.MlschedError)
        True
    """
