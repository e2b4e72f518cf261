"""What every command prints with: tables for people, one JSON document for programs, progress on a terminal only."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.core.deadline import OutOfTime
from mlsched.core.errors import InvalidInput, MlschedError, one_line
from mlsched.core.interrupts import stopping
from mlsched.core.safe_open import refuse_target, shown_path

if TYPE_CHECKING:
    from mlsched.benchmark.text_table import TextTable

#: Signs of a line where the output goes to a file or a pipe and $COLUMNS says nothing.
WIDE = 200
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Seed = Annotated[int, typer.Option(help="Set the random seed, e.g. 7; equal seeds give equal answers.", min=0)]


def to_write(*names: str, text: str, picture: bool = False, folders: bool = False, group: str | None = None) -> Any:
    """An option that names a file to write, refused before any work where it cannot be written.

    picture: what is written is a picture, known by its suffix. folders: the file's folder may be missing, and is made
    when the file is written. group: the group of options in which `--help` shows it.
    """

    def check(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
        if path is not None:
            refuse_target(path, folders=folders)
            files = context.meta.setdefault("mlsched.files", {})  # place -> the option of this call that writes there
            name = option.opts[-1]
            if (other := files.setdefault(path.resolve(), name)) != name:
                raise InvalidInput(f"{path}: is given with {other} and with {name}; give each a file of its own")
            if picture:
                from mlsched.benchmark import plots

                plots.check_target(path)
        return path

    return typer.Option(*names, help=text, callback=check, rich_help_panel=group)


Isolate = Annotated[
    bool, typer.Option("--isolate", help="Run each solver in a separate process, safe from crashes and endless loops.")
]
Memory = Annotated[
    int | None,
    typer.Option(help="Limit the memory of an isolated solver in bytes, e.g. 2000000000. Default: no limit.", min=1),
]


@contextlib.contextmanager
def only_documents() -> Iterator[None]:
    """What a solver prints goes to the standard error: the standard output is the command's.

    By a descriptor of its own: Pyomo captures those of both standard streams, and waits for ever where they are one.
    """
    with contextlib.ExitStack() as stack:
        try:
            copy = os.dup(sys.stderr.fileno())
        except (OSError, ValueError):  # a stream of somebody's own, without a descriptor
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        else:
            stream = os.fdopen(copy, "w", buffering=1, encoding="utf-8", errors="replace")
            stack.enter_context(stream)
            stack.enter_context(contextlib.redirect_stdout(stream))
        yield


def completing(what: str) -> Callable[[str], list[str]]:
    """What completes names of the "problems", "solvers", "suites" or "experiments" in a shell."""

    def complete(incomplete: str) -> list[str]:
        from mlsched.cli import inventory

        return inventory.beginning(what, incomplete)

    return complete


complete_problem, complete_solver = completing("problems"), completing("solvers")


def complete_preset(incomplete: str) -> list[str]:
    """Names of presets, of the problem that stands in the line, for the shell to complete."""
    from mlsched.cli import inventory

    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""  # bash; other shells
    return inventory.presets(line.split(), incomplete)


class ChecksFailed(Exception):
    """The work ran and its output was written, but something it checks failed: exit status 1."""


def emit(as_json: bool, document: Callable[[], dict[str, Any]], renderables: Callable[[], list[Any]]) -> None:
    """Print the document as JSON, or the renderables for people."""
    if as_json:
        print(json.dumps(document(), allow_nan=False))  # noqa: T201 - standard output is this command's result
        return
    from rich.console import Console

    # Paths and messages are data: nothing in them is markup.
    terminal = sys.stdout.isatty()
    fixed = os.environ.get("COLUMNS", "").isdigit()  # rich obeys it by itself
    wide = None if terminal or fixed else WIDE
    console = Console(soft_wrap=not terminal and not fixed, width=wide, markup=False, emoji=False)
    for item in renderables():
        if terminal:
            console.print(item, highlight=False)
            continue
        with console.capture() as captured:
            console.print(item, highlight=False)
        lines = captured.get().removesuffix("\n").split("\n")
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))


def say(message: str) -> None:
    """One line on standard error."""
    print(f"mlsched: {one_line(message, 1000)}", file=sys.stderr)  # noqa: T201 - standard error is for people


@contextlib.contextmanager
def checking(folder: Path, seconds: float) -> Iterator[None]:
    """Within the block, what a stranger's folder holds can take neither more time nor more memory than a check may."""
    from mlsched.core.guard import OutOfMemory, resource_guard

    name = shown_path(folder)
    try:
        with resource_guard(seconds):
            yield
    except OutOfTime:
        late = f"the check did not end in {seconds:g} s; give it more time (--time-limit)"
        raise ChecksFailed(f"{name}: does not hold: {late}") from None
    except OutOfMemory as more:
        raise ChecksFailed(f"{name}: does not hold: the check {more}") from None


@contextlib.contextmanager
def kept_at_stop() -> Iterator[Callable[[], bool]]:
    """At Ctrl-C, the search within the block ends with what it has; a failure for want of time is the interrupt's."""
    with stopping() as stopped:
        try:
            yield stopped
        except (MlschedError, OutOfTime) as error:
            if not stopped():
                raise
            say(str(error) or "there is no plan yet")
            raise KeyboardInterrupt from None


@contextlib.contextmanager
def going_on(how: Callable[[], str]) -> Iterator[None]:
    """Where the block is interrupted, `how` says in a line what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        say(how())
        raise


def table(title: str, header: list[str], rows: list[list[str]]) -> Any:
    """A table for the terminal: names and sentences left, numbers right, in several parts if it is too wide."""
    from mlsched.benchmark.text_table import TextTable

    return Columns(TextTable(title, header, rows))


def entries_of(entries: Iterable[tuple[str, list[tuple[str, str]]]]) -> Any:
    """Names, each with lines below it (label, text) that are indented and wrapped between words."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    shown: list[Any] = []
    for head, lines in entries:
        shown.append(Text(head, style="bold"))
        if any(label for label, _ in lines):
            below = Table.grid(padding=(0, 2))
            below.add_column(no_wrap=True)
            below.add_column()
            for label, text in lines:
                below.add_row(label, Text(text))
            shown.append(Padding(below, (0, 0, 1, 4)))
        else:
            shown += [Padding(Text(text), (0, 0, 0, 4)) for _, text in lines]
    return Group(*shown)


class Columns:
    """A table whose names and numbers are never broken; one that is too wide is several, below each other."""

    #: Characters from which on a cell is text, which may be broken between words.
    TEXT = 40

    def __init__(self, table: TextTable) -> None:
        self.table = table

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        longest = [
            max(len(line) for row in [self.table.header, *self.table.rows] for line in row[c].split("\n"))
            for c in range(len(self.table.header))
        ]
        widths = [2 + min(most, self.TEXT) for most in longest]
        first, group, used = min(widths[0], options.max_width // 2), list[int](), 0
        for column, width in enumerate(widths[1:], start=1):
            if group and first + used + width > options.max_width:
                yield self._part(group, longest)
                group, used = [], 0
            group.append(column)
            used += width
        yield self._part(group, longest)

    def _part(self, columns: list[int], longest: list[int]) -> Any:
        from rich import box
        from rich.table import Table

        made = Table(title=self.table.title, title_justify="left", box=box.SIMPLE_HEAD)
        shown = (0, *columns)
        for c in shown:
            sentences = longest[c] > self.TEXT
            justify: Any = "left" if c == 0 or sentences else "right"
            made.add_column(self.table.header[c], justify=justify, overflow="fold", no_wrap=not sentences)
        for row in self.table.rows:
            made.add_row(*(row[c] for c in shown))
        return made


def number(value: float | int | None) -> str:
    """A figure for a table: integers whole, others to four significant digits or one decimal, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.1f}"


def settings(items: list[str], option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` -> `{"a": "1", "b": "2"}`."""
    values: dict[str, str] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise InvalidInput(f"{option}: {item}, expected KEY=VALUE")
        if key in values:
            raise InvalidInput(f"{option} {item}: {key} is given twice")
        values[key] = value
    return values


@contextlib.contextmanager
def waiting(label: str, time_limit: float | None) -> Iterator[Callable[[str], None]]:
    """A line on standard error that says for how long something runs, and at most; silent where that is no terminal.

    Yields a function that puts a few words behind the label.
    """
    if not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    most = "" if time_limit is None else f"of at most {time_limit:g} s"
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TextColumn(most))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda words: bar.update(task, description=f"{label}: {words}")


@contextlib.contextmanager
def progress(label: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error; yields `update(completed)`. Silent when standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda completed: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda completed: bar.update(task, completed=completed)
