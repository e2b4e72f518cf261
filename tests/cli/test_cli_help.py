"""Help is quick because it loads nothing of what the commands do: a list of modules, never a clock, says so."""

from __future__ import annotations

import re
import subprocess
import sys

from documentation import DOCS

from mlsched.cli.main import complete_app

APP = complete_app()
COMMANDS = sorted(str(c.name or c.callback.__name__) for c in (*APP.registered_commands, *APP.registered_groups))
#: Commands that the distribution's plug-ins add.
OF_PLUGINS = {"judge", "reproduce", "train"}
HEAVY = ("numpy", "scipy", "torch", "ortools", "highspy", "pyomo", "networkx", "moocore", "matplotlib", "gymnasium")
LAYERS = (
    "benchmark",
    "testing",
    "api",
    "learned",
    "simulation",
    "heuristics",
    "solvers",
    "formulations",
    "certificates",
    "instances",
)
#: Core's modules that a signature may need; the others describe instances and solvers, and need numpy.
LIGHT = {
    f"mlsched.core{name}"
    for name in (
        "",
        ".aliases",
        ".brief",
        ".deadline",
        ".deferred",
        ".errors",
        ".files",
        ".interrupts",
        ".models",
        ".plugins",
        ".safe_open",
    )
}


def loaded_by(calls: list[list[str]]) -> dict[str, set[str]]:
    """Call -> the modules of a fresh process after it; one call after the other, each prints help and exits with 0."""
    probe = (
        "import sys\nfrom mlsched.cli.main import run\n"
        f"for call in {calls!r}:\n"
        "    assert run(call) == 0\n"
        "    print(' '.join([*call, ':', *sys.modules]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.count("Usage: mlsched") == len(calls)
    lines = [line.split(":", 1) for line in done.stderr.splitlines()]
    return {call.strip(): set(modules.split()) for call, modules in lines}


def test_help_loads_nothing_that_does_the_work():
    calls: list[list[str]] = [[], ["--help"], *([name, "--help"] for name in COMMANDS)]
    loaded = loaded_by(calls)
    assert len(loaded) == len(calls)
    for call, found in loaded.items():
        assert found.isdisjoint(HEAVY), call
        assert found.isdisjoint(
            f"{package}.{layer}" for layer in LAYERS for package in ("mlsched", "mlsched_admission")
        ), call
        assert {m for m in found if m.startswith("mlsched.core")} <= LIGHT, call


def test_the_version_does_not_even_load_rich():
    code = "import sys\nfrom mlsched.cli.main import run\nrun(['--version'])\nsys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_every_command_is_listed_with_what_it_does(cli):
    lines = [line.strip(" │").split(maxsplit=1) for line in cli("--help").out.splitlines()]
    assert set(COMMANDS) <= {line[0] for line in lines if len(line) == 2}


def test_the_commands_of_the_page_are_all_there():
    """What is documented cannot vanish."""
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert len(called := set(re.findall(r"^mlsched ([a-z]+)", page, re.MULTILINE))) > 1
    assert called <= {*COMMANDS, *OF_PLUGINS}


def test_a_call_reads_the_signature_of_its_command_alone():
    """What makes a call quick: typer takes as long to read all signatures as to read its own code."""
    from mlsched.cli.main import _command

    assert list(_command("list").commands) == ["list"]
    assert sorted(_command("lsit").commands) == sorted(_command("--version").commands) == COMMANDS


def test_every_command_prints_a_document():
    """`--json` on every command, those of groups included."""
    from typer.main import get_command

    def leaves(command, name):
        inside = getattr(command, "commands", {})
        return [leaf for key, sub in inside.items() for leaf in leaves(sub, f"{name} {key}")] or [(name, command)]

    found = leaves(get_command(APP), "mlsched")
    assert len(found) > len(COMMANDS)
    assert [name for name, command in found if not any("--json" in p.opts for p in command.params)] == []
