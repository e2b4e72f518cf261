"""The application, its commands, and the exit statuses."""

from __future__ import annotations

import copy
import functools
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from mlsched.cli import groups, output, problems, words
from mlsched.cli.bench import bench
from mlsched.cli.certify import certify
from mlsched.cli.check import check
from mlsched.cli.collection import collection
from mlsched.cli.data import data
from mlsched.cli.doctor import doctor
from mlsched.cli.fields import fields
from mlsched.cli.generate import generate
from mlsched.cli.listing import list_
from mlsched.cli.model import model
from mlsched.cli.pareto import pareto
from mlsched.cli.simulate import simulate
from mlsched.cli.solve import solve
from mlsched.cli.store import compare, export, merge, rerun
from mlsched.cli.worst import worst
from mlsched.core import plugins
from mlsched.core.errors import InvalidInput, MlschedError

#: Base of every wrong call that typer reports. Newer typers carry a click of their own, so it is found by ancestry.
USAGE_ERROR: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
#: Exit status after control-C and SIGTERM.
INTERRUPTED = 130

app = typer.Typer(
    name="mlsched",
    help="Schedule machine-learning clusters exactly, by heuristic or by policy, and measure gaps to the optimum.",
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from mlsched import __version__

        typer.echo(f"mlsched {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Schedule machine-learning clusters exactly, by heuristic or by policy, and measure gaps to the optimum."""


#: Group -> the core's commands in it.
COMMANDS = {
    groups.INSTANCES: (generate, solve, check, certify, pareto, model),
    groups.CLUSTERS: (simulate, *problems.commands()),
    groups.BENCHMARKS: (bench, worst, compare, export, merge, rerun),
    groups.INFORMATION: (list_, fields, doctor),
}
for _group, _commands in COMMANDS.items():
    for _command_of_group in _commands:
        app.command(_command_of_group.__name__.rstrip("_"), rich_help_panel=_group)(_command_of_group)
app.add_typer(data, name="data", rich_help_panel=groups.CLUSTERS)
app.add_typer(collection, name="collection", rich_help_panel=groups.BENCHMARKS)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    _fill_standard_streams()
    # NumPy's and SciPy's threads gain nothing on vectors as short as these, and cost more than the work itself as they
    # wait for each other; --workers uses more cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = _say_warning
    # Who is asked to end keeps what was done, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.path.append(str(Path.cwd()))  # for the user's own rules, MODULE:FUNCTION
    status = run(sys.argv[1:] if arguments is None else arguments)
    # Interrupted in a text that it executes (dataclasses have such), `python -m` would end itself by SIGINT, whatever
    # the status, unless it has executed another to its end.
    exec("")
    sys.exit(status)


@functools.cache
def _command(called: str) -> Any:
    """The commands with their options, which typer reads from their signatures; of a call, that command alone."""
    alone = copy.copy(app)
    alone.registered_commands = [c for c in app.registered_commands if _name(c) == called]
    alone.registered_groups = [g for g in app.registered_groups if g.name == called]
    if not (alone.registered_commands or alone.registered_groups):
        alone.registered_commands = _of_plugins(called)
    return typer.main.get_command(alone if alone.registered_commands or alone.registered_groups else everything())


def everything() -> typer.Typer:
    """The application with the commands of all plug-ins."""
    whole = copy.copy(app)
    commands = [*app.registered_commands, *_of_plugins()]
    whole.registered_commands = sorted(commands, key=lambda command: groups.ORDER.index(command.rich_help_panel))
    return whole


def _of_plugins(called: str | None = None) -> list[Any]:
    """The commands of plug-ins, or the one of that name; one that fails, or has a name of ours, is left out."""
    found: dict[str, Any] = {}
    ours = {*map(_name, app.registered_commands), *(group.name for group in app.registered_groups)}
    for point in plugins.points_of_group("commands"):
        what = f"plug-in '{point.name}' of {point.group}"
        if called not in (None, point.name):
            continue
        if point.name in ours or point.name in found:
            warnings.warn(f"{what} is left out: there is a command of that name", stacklevel=2)
        elif (command := plugins.attempt(what, functools.partial(_loaded, point))) is not None:
            found[point.name] = command
    return list(found.values())


def _loaded(point: Any) -> Any:
    """A plug-in's command, built once to see that it can be."""
    alone, command = typer.Typer(), point.load()
    alone.command(point.name, rich_help_panel=groups.group_of(command))(command)
    typer.main.get_command(alone)
    return alone.registered_commands[0]


def _name(command: Any) -> str:
    """How the command line calls a command."""
    return command.name or typer.main.get_command_name(command.callback.__name__)


def _options(arguments: list[str]) -> set[str]:
    """The options of the command that was called, with their dashes."""
    command = _command(arguments[0])
    for name in arguments:
        command = getattr(command, "commands", {}).get(name, command)
    return {option for parameter in command.params for option in parameter.opts if option.startswith("--")}


def _called(arguments: list[str]) -> list[str]:
    """The names of the command that was called, such as collection, card."""
    command, names = _command(arguments[0]), list[str]()
    for name in arguments:
        if name not in (inside := getattr(command, "commands", {})):
            break
        command = inside[name]
        names.append(name)
    return names


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    output.say(f"note: {message}")


def run(arguments: list[str]) -> int:
    """The exit status of a command line."""
    arguments = arguments or ["--help"]
    if sys.stdout is None:
        output.say("standard output is closed; give it a place to go")
        return 1
    try:
        result = _command(arguments[0])(arguments, standalone_mode=False, prog_name="mlsched")
        sys.stdout.flush()
        if result == INTERRUPTED:  # some typers turn the interrupt into a status themselves
            output.say("interrupted")
        return result if isinstance(result, int) else 0
    except output.ChecksFailed as failed:
        output.say(str(failed))
        return 1
    except InvalidInput as wrong:
        output.say(words.as_options(str(wrong), _options(arguments)))
        return 2
    except MlschedError as failed:
        output.say(str(failed))
        return 1
    except USAGE_ERROR as wrong:
        message = " ".join(wrong.format_message().split()).rstrip(".")  # lists of choices come a line each
        message = words.of_usage(message, arguments)
        output.say(f"{message}; see `{' '.join(['mlsched', *_called(arguments), '--help'])}`")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        output.say("interrupted")
        return INTERRUPTED
    except RuntimeError as failed:
        # Until Python 3.12, an interrupt while a class gets its attributes, as in NumPy's import, comes as this.
        if not isinstance(failed.__cause__, KeyboardInterrupt):
            raise
        output.say("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as gone:
        # The reader has gone (`mlsched ... | head`): nothing is wrong, and nothing more can be said. Typer turns the
        # error into an exit of its own when it meets it first.
        if not isinstance(gone, BrokenPipeError) and not isinstance(gone.__context__, BrokenPipeError):
            raise
        _drop_standard_output()
        return 0
    except OSError as error:
        # Files say themselves what is wrong with them (`core/safe_open.py`); what is left is the standard output.
        output.say(f"standard output cannot be written: {error.strerror or error}")
        _drop_standard_output()
        return 1


def _drop_standard_output() -> None:
    """What is still to be written, when the interpreter ends, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fill_standard_streams() -> None:
    """A standard stream that the caller closed must not become the file that is opened next, nor get its text."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
