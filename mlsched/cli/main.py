"""Application, commands, and exit statuses."""

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
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput, MlschedError

#: Base class of every usage error of typer. Newer typers include a click of their own, so it is found by ancestry.
USAGE_ERROR: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
#: Exit status after Ctrl-C and SIGTERM.
INTERRUPTED = 130

app = typer.Typer(
    name="mlsched",
    help="Schedule machine-learning clusters exactly, by heuristic or by policy, and measure gaps to the optimum.",
    pretty_exceptions_enable=False,
)


def _version(requested: bool) -> None:
    if requested:
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


#: Group -> commands of the core.
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
    # Threads of NumPy and SciPy do not help on short vectors, and waiting for each other costs more than the work;
    # --workers uses more cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = _print_warning
    # SIGTERM keeps results so far, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.path.append(str(Path.cwd()))  # for the user's own rules, MODULE:FUNCTION
    status = run(sys.argv[1:] if arguments is None else arguments)
    # After an interrupt inside executed text (as in dataclasses), `python -m` would end itself by SIGINT, whatever the
    # status, unless another text was executed completely.
    exec("")
    sys.exit(status)


@functools.cache
def _command(called: str) -> Any:
    """Return the commands with their options, which typer reads from signatures; for a call, only its command."""
    selection = copy.copy(app)
    selection.registered_commands = [c for c in app.registered_commands if _command_name(c) == called]
    selection.registered_groups = [g for g in app.registered_groups if g.name == called]
    if not (selection.registered_commands or selection.registered_groups):
        selection.registered_commands = _plugin_commands(called)
    return typer.main.get_command(
        selection if selection.registered_commands or selection.registered_groups else complete_app()
    )


def complete_app() -> typer.Typer:
    """Return the application with the commands of all plug-ins."""
    complete = copy.copy(app)
    commands = [*app.registered_commands, *_plugin_commands()]
    complete.registered_commands = sorted(commands, key=lambda command: groups.ORDER.index(command.rich_help_panel))
    return complete


def _plugin_commands(name_in_call: str | None = None) -> list[Any]:
    """Return the commands of plug-ins, or the named one, without faulty ones and names of the core."""
    commands: Data = {}
    own_names = {*map(_command_name, app.registered_commands), *(group.name for group in app.registered_groups)}
    for point in plugins.points_of_group("commands"):
        description = f"plug-in '{point.name}' of {point.group}"
        if name_in_call not in (None, point.name):
            continue
        if point.name in own_names or point.name in commands:
            warnings.warn(f"{description} is left out: there is a command of that name", stacklevel=2)
        elif (command := plugins.attempt(description, functools.partial(_tested_command, point))) is not None:
            commands[point.name] = command
    return list(commands.values())


def _tested_command(point: Any) -> object:
    """Return a plug-in's command after building it once as a test."""
    application, command = typer.Typer(), point.load()
    application.command(point.name, rich_help_panel=groups.group_of(command))(command)
    typer.main.get_command(application)
    return application.registered_commands[0]


def _command_name(command: Any) -> str:
    """Return the name of a command on the command line."""
    return command.name or typer.main.get_command_name(command.callback.__name__)


def _options_of(arguments: list[str]) -> set[str]:
    """Return the options of the called command, with their dashes."""
    command = _command(arguments[0])
    for name in arguments:
        command = getattr(command, "commands", {}).get(name, command)
    return {option for parameter in command.params for option in parameter.opts if option.startswith("--")}


def _command_path(arguments: list[str]) -> list[str]:
    """Return the names of the called command, for example collection, card."""
    command, names = _command(arguments[0]), list[str]()
    for name in arguments:
        if name not in (inside := getattr(command, "commands", {})):
            break
        command = inside[name]
        names.append(name)
    return names


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    output.say(f"note: {message}")


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status."""
    arguments = arguments or ["--help"]
    if sys.stdout is None:
        output.say("standard output is closed; give it a place to go")
        return 1
    try:
        result = _command(arguments[0])(arguments, standalone_mode=False, prog_name="mlsched")
        sys.stdout.flush()
        if result == INTERRUPTED:  # some typers turn the interrupt into a status
            output.say("interrupted")
        return result if isinstance(result, int) else 0
    except output.ChecksFailed as failed:
        output.say(str(failed))
        return 1
    except InvalidInput as wrong:
        output.say(words.as_options(str(wrong), _options_of(arguments)))
        return 2
    except MlschedError as failed:
        output.say(str(failed))
        return 1
    except USAGE_ERROR as wrong:
        message = " ".join(wrong.format_message().split()).rstrip(".")  # lists of choices have one line each
        message = words.of_usage(message, arguments)
        output.say(f"{message}; see `{' '.join(['mlsched', *_command_path(arguments), '--help'])}`")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        output.say("interrupted")
        return INTERRUPTED
    except RuntimeError as failed:
        # Until Python 3.12, an interrupt while a class gets its attributes, as in NumPy's import, is raised as
        # RuntimeError.
        if not isinstance(failed.__cause__, KeyboardInterrupt):
            raise
        output.say("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as gone:
        # The reader has closed the pipe (`mlsched ... | head`), which is not an error; further output is impossible.
        # Typer turns the error into an exit if it catches it first.
        if not isinstance(gone, BrokenPipeError) and not isinstance(gone.__context__, BrokenPipeError):
            raise
        _drop_standard_output()
        return 0
    except OSError as error:
        # Errors of files are InvalidFile (`core/safe_open.py`); this one belongs to the standard output.
        output.say(f"standard output cannot be written: {error.strerror or error}")
        _drop_standard_output()
        return 1


def _drop_standard_output() -> None:
    """Redirect remaining output, written when the interpreter ends, to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fill_standard_streams() -> None:
    """Open the null device for closed standard streams, so that the next opened file does not replace them."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
