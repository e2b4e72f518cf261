"""Output of every command: tables for people, one JSON document for programs, progress only on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlsched.core.aliases import Data
from mlsched.core.deadline import OutOfTime
from mlsched.core.errors import ALL_NAMES, InvalidInput, MlschedError, one_line
from mlsched.core.interrupts import stopping
from mlsched.core.safe_open import refuse_target, shown_path

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType
    from rich.table import Table
    from typer.models import OptionInfo

    from mlsched.benchmark.text_table import TextTable

#: Characters per line if the output goes to a file or a pipe and $COLUMNS is not set.
PIPE_WIDTH = 200
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Seed = Annotated[int, typer.Option(help="Set the random seed, e.g. 7; equal seeds give equal answers.", min=0)]


def to_write(
    *names: str, text: str, picture: bool = False, folders: bool = False, group: str | None = None
) -> OptionInfo:
    """Return an option for a file to write, which is rejected before any work if it cannot be written.

    Args:
        names: Names of the option.
        text: Help text.
        picture: The file is a picture, in the format of its suffix.
        folders: The parent folder may be missing; it is created with the file.
        group: Group of options in `--help`.
    """

    def check(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
        if path is not None:
            refuse_target(path, folders=folders)
            files = context.meta.setdefault("mlsched.files", {})  # path -> option of this call that writes there
            name = option.opts[-1]
            if (other := files.setdefault(path.resolve(), name)) != name:
                raise InvalidInput(f"{path}: is given with {other} and with {name}; give each a file of its own")
            if picture:
                from mlsched.benchmark import plots

                plots.check_target(path)
        return path

    option: OptionInfo = typer.Option(*names, help=text, callback=check, rich_help_panel=group)
    return option


Isolate = Annotated[
    bool, typer.Option("--isolate", help="Run each solver in a separate process, safe from crashes and endless loops.")
]
Memory = Annotated[
    int | None,
    typer.Option(help="Limit the memory of an isolated solver in bytes, e.g. 2000000000. Default: no limit.", min=1),
]


@contextlib.contextmanager
def only_documents() -> Iterator[None]:
    """Redirect output of solvers to the standard error; the standard output belongs to the command.

    The redirection uses its own descriptor: Pyomo captures both standard streams, and deadlocks if they are equal.
    """
    with contextlib.ExitStack() as stack:
        try:
            copy = os.dup(sys.stderr.fileno())
        except (OSError, ValueError):  # a replaced stream without a descriptor
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        else:
            stream = os.fdopen(copy, "w", buffering=1, encoding="utf-8", errors="replace")
            stack.enter_context(stream)
            stack.enter_context(contextlib.redirect_stdout(stream))
        yield


def name_completion(what: str) -> Callable[[str], list[str]]:
    """Return a shell completion for names in a list: "problems", "solvers", "suites" or "experiments"."""

    def complete(incomplete: str) -> list[str]:
        from mlsched.cli import inventory

        return inventory.names_beginning(what, incomplete)

    return complete


complete_problem, complete_solver = name_completion("problems"), name_completion("solvers")


def complete_preset(incomplete: str) -> list[str]:
    """Return presets of the problem in the line, for completion in the shell."""
    from mlsched.cli import inventory

    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""  # bash; other shells
    return inventory.presets_beginning(line.split(), incomplete)


#: Options that several commands have.
Preset = Annotated[
    str | None,
    typer.Option(
        help="Choose a named set of sizes, e.g. small; see `mlsched list problems`. Default: the generator's sizes.",
        autocompletion=complete_preset,
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Set one size of the generator, e.g. jobs=20 (repeatable). Default: the preset's size.",
    ),
]
HtmlReport = Annotated[
    Path | None,
    to_write(
        text="Write a self-contained HTML report to this file, e.g. report.html. Default: not written.", folders=True
    ),
]


class ChecksFailed(Exception):
    """Failed check after complete work and output: exit status 1."""


def emit(as_json: bool, document: Callable[[], Data], renderables: Callable[[], Sequence[RenderableType]]) -> None:
    """Print the document as JSON, or the renderables for people."""
    if as_json:
        print(json.dumps(document(), allow_nan=False))  # noqa: T201 - standard output is this command's result
        return
    from rich.console import Console

    # Paths and messages are data without markup.
    terminal = sys.stdout.isatty()
    has_width = os.environ.get("COLUMNS", "").isdigit()  # rich reads it by itself
    wide = None if terminal or has_width else PIPE_WIDTH
    console = Console(soft_wrap=not terminal and not has_width, width=wide, markup=False, emoji=False)
    for item in renderables():
        if terminal:
            console.print(item, highlight=False)
            continue
        with console.capture() as captured:
            console.print(item, highlight=False)
        lines = captured.get().removesuffix("\n").split("\n")
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))


def say(message: str) -> None:
    """Print one line on standard error."""
    print(f"mlsched: {one_line(message, ALL_NAMES)}", file=sys.stderr)  # noqa: T201 - standard error is for people


@contextlib.contextmanager
def checking_limits(folder: Path, seconds: float) -> Iterator[None]:
    """Limit time and memory within the block, which reads an untrusted folder."""
    from mlsched.core.guard import OutOfMemory, resource_guard

    name = shown_path(folder)
    try:
        with resource_guard(seconds):
            yield
    except OutOfTime:
        reason = f"the check did not end in {seconds:g} s; give it more time (--time-limit)"
        raise ChecksFailed(f"{name}: does not hold: {reason}") from None
    except OutOfMemory as error:
        raise ChecksFailed(f"{name}: does not hold: the check {error}") from None


@contextlib.contextmanager
def result_at_interrupt() -> Iterator[Callable[[], bool]]:
    """End the search within the block at Ctrl-C with its result; a failure without a result is an interrupt."""
    with stopping() as stopped:
        try:
            yield stopped
        except (MlschedError, OutOfTime) as error:
            if not stopped():
                raise
            say(str(error) or "there is no plan yet")
            raise KeyboardInterrupt from None


@contextlib.contextmanager
def resume_hint(hint: Callable[[], str]) -> Iterator[None]:
    """Print the line of `hint`, which says what is kept and how to continue, if the block is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        say(hint())
        raise


def table(title: str, header: list[str], rows: list[list[str]], *, text: bool = False) -> Columns:
    """Return a table for the terminal, split if it is too wide.

    Names and sentences are aligned left, numbers right; with `text`, all columns are text.
    """
    from mlsched.benchmark.text_table import TextTable

    return Columns(TextTable(title, header, rows), text)


def listing_of(entries: Iterable[tuple[str, list[tuple[str, str]]]]) -> Group:
    """Return names, each with indented and wrapped lines (label, text) below."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    for head, lines in entries:
        parts.append(Text(head, style="bold"))
        if any(label for label, _ in lines):
            below = Table.grid(padding=(0, 2))
            below.add_column(no_wrap=True)
            below.add_column()
            for label, text in lines:
                below.add_row(label, Text(text))
            parts.append(Padding(below, (0, 0, 1, 4)))
        else:
            parts += [Padding(Text(text), (0, 0, 0, 4)) for _, text in lines]
    return Group(*parts)


class Columns:
    """Table whose names and numbers are never broken; a table that is too wide is split into several."""

    #: Length in characters from which a cell is text that may be wrapped.
    TEXT = 40

    def __init__(self, table: TextTable, text: bool = False) -> None:
        self.table, self.text = table, text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        longest = [
            max(len(line) for row in [self.table.header, *self.table.rows] for line in row[c].split("\n"))
            for c in range(len(self.table.header))
        ]
        widths = [2 + min(most, self.TEXT) for most in longest]
        first, group, width_so_far = min(widths[0], options.max_width // 2), list[int](), 0
        for column, width in enumerate(widths[1:], start=1):
            if group and first + width_so_far + width > options.max_width:
                yield self._part(group, longest)
                group, width_so_far = [], 0
            group.append(column)
            width_so_far += width
        yield self._part(group, longest)

    def _part(self, columns: list[int], longest: list[int]) -> Table:
        from rich import box
        from rich.table import Table

        rich_table = Table(title=self.table.title, title_justify="left", box=box.SIMPLE_HEAD)
        indices = (0, *columns)
        for c in indices:
            sentences = longest[c] > self.TEXT
            justify: Any = "left" if c == 0 or sentences or self.text else "right"
            rich_table.add_column(self.table.header[c], justify=justify, overflow="fold", no_wrap=not sentences)
        for row in self.table.rows:
            rich_table.add_row(*(row[c] for c in indices))
        return rich_table


def number(value: float | int | None) -> str:
    """Format a value for a table: integers in full, others to four digits or one decimal, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.1f}"


def settings(items: list[str], option: str) -> dict[str, str]:
    """Parse `["a=1", "b=2"]` as `{"a": "1", "b": "2"}`."""
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
    """Show elapsed time and time limit on standard error if it is a terminal.

    Yields:
        A function that appends a few words to the label.
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
    """Show a progress bar on standard error if it is a terminal; yield `update(completed)`."""
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
