"""Errors that mlsched raises on purpose.

Every message is one line with the fault, its place and a remedy. The command line prints that line and exits with
status 2 (bad input) or 1 (the work ran, but a check failed). Any other traceback out of mlsched is a bug in mlsched.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable
from pathlib import Path

#: Longest message in characters; longer ones are cut in the middle, which keeps place and remedy.
MAX_MESSAGE = 300
#: The same for a message that lists all names, as the documentation promises.
ALL_NAMES = 1200
#: Folders of code that the user did not write: mlsched, Python, and installed packages.
_LIBRARY_FOLDERS = (
    str(Path(__file__).resolve().parent.parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)


def shorten(text: str, most: int = 60) -> str:
    """Shorten a text from outside to at most `most` characters, keeping its beginning and its end."""
    if len(text) <= most:
        return text
    head = (most - 5) * 2 // 3
    return f"{text[:head]} ... {text[len(text) - (most - 5 - head) :]}"


def one_line(message: str, most: int = MAX_MESSAGE) -> str:
    """Return `message` as one printable line of at most `most` characters."""
    text = shorten(message, most)
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))


def describe_exception(error: BaseException) -> str:
    """Describe an exception of foreign code: its type, its text, and its place in that code."""
    place = place_of(error)
    where = f" ({place})" if place else ""
    try:
        return f"{type(error).__name__}: {shorten(str(error), MAX_MESSAGE // 2)}{where}"
    except BaseException as failure:
        return f"{type(error).__name__}, whose text cannot be shown ({type(failure).__name__}){where}"


def place_of(error: BaseException) -> str:
    """Locate the user's line that raised an exception: "my_rules.py, line 12", or "" if there was only library code."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}, line {error.lineno}"
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_LIBRARY_FOLDERS) and not file.startswith("<frozen"):
            place = f"{Path(file).name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


def with_article(noun: str) -> str:
    """Return the noun with its article, chosen by the first letter: "an int", "a preemption.plan"."""
    return f"{'an' if noun[:1].lower() in ('a', 'e', 'i', 'o') else 'a'} {noun}"


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Suggest the known name closest to `name`: " (did you mean 'fitgpp'?)", or "" if none resembles it."""
    import difflib

    close = difflib.get_close_matches(str(name)[:MAX_MESSAGE].lower(), list(known_names), n=1, cutoff=0.7)
    return f" (did you mean '{close[0]}'?)" if close else ""


class MlschedError(Exception):
    """Base class of all errors that mlsched raises on purpose; the message is one line of limited length.

    Args:
        message: The message.
        longest: Most characters instead of the class's own.

    Examples:
        >>> try:
        ...     mlsched.load("nothing.json")
        ... except mlsched.MlschedError as error:
        ...     print(error)
        nothing.json: file not found; check the path
    """

    longest = MAX_MESSAGE

    def __init__(self, message: object = "", longest: int | None = None) -> None:
        super().__init__(one_line(str(message), longest or self.longest))


class InvalidInput(MlschedError, ValueError):
    """Invalid instance, plan, parameter or call; the message names field, value and rule.

    Examples:
        >>> mlsched.generate("quality", "small", seed=-1)
        Traceback (most recent call last):
        mlsched.core.errors.InvalidInput: seed: -1, expected at least 0
    """


class InvalidFile(InvalidInput):
    """Invalid file; the message names path, place (field or line), value and rule.

    Examples:
        >>> mlsched.load("nothing.json")
        Traceback (most recent call last):
        mlsched.core.errors.InvalidFile: nothing.json: file not found; check the path
    """


class TooLarge(InvalidInput):
    """Instance beyond the size limit of an exact algorithm, a model or a trained policy.

    The message names the limit and solvers that accept more.
    """


class UnknownName(InvalidInput, LookupError):
    """Unknown problem, solver, preset or other name; the message lists the known names.

    Examples:
        >>> mlsched.solve(mlsched.generate("quality", "small"), "slack")
        Traceback (most recent call last):
        mlsched.core.errors.UnknownName: unknown solver 'slack' for quality (did you mean 'slaq'?); there are ...
    """

    def __init__(self, message: object = "", longest: int = MAX_MESSAGE) -> None:
        fault, there_are, names = str(message).partition("; there are ")
        fault = shorten(fault, MAX_MESSAGE // 2)
        super().__init__(fault + there_are + _cut_names(names, longest - len(fault + there_are)), longest)


def _cut_names(names: str, most: int) -> str:
    """Cut a list of names to `most` characters, in complete names, and append the number of omitted names."""
    if len(names) <= most:
        return names
    beginning = names[: most - len(", and 99999 more")].rpartition(", ")[0]
    return f"{beginning}, and {names.count(', ') - beginning.count(', ')} more"


class SolverError(MlschedError):
    """Broken contract of a solver: an exception, a missing or infeasible plan, or a bound that the judge refutes.

    Examples:
        >>> mlsched.solve(mlsched.generate("quality", "small"), lambda instance, *, rng: None)
        Traceback (most recent call last):
        mlsched.core.errors.SolverError: <lambda> did not return a plan; a rule must return a quality.plan
    """


class Stuck(SolverError):
    """Simulated run without progress: jobs wait, the solver starts none, and no further event will occur."""


class Contradiction(SolverError):
    """Contradiction between two engines about one problem; the message names the file with both answers."""

    longest = 600  # room for both engines, their answers and the file


class RuleFailure(SolverError):
    """Failure of a solver that returned no answer, or that changed the instance.

    Attributes:
        how: "crash" (its process ended), "timeout", "memory" (it exceeded its limit) or "cheated" (it changed the
            instance by which it is judged).
    """

    def __init__(self, message: object = "", how: str = "crash") -> None:
        super().__init__(message)
        self.how = how

    def __reduce__(self) -> tuple[type[RuleFailure], tuple[str, str]]:
        return type(self), (str(self), self.how)


class BackendError(MlschedError):
    """Backend that is missing, failed, or reported a status that must not be mistaken for an answer.

    Examples:
        >>> issubclass(mlsched.BackendError, mlsched.MlschedError)
        True
    """
