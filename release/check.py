"""Build wheel and sdist, check them, and use them as somebody would who has never seen the repository.

    python release/check.py [--python PYTHON ...] [--keep FOLDER] [--pages]

Both archives pass `twine check --strict`. Each is installed without extras into an empty environment of each PYTHON
(default: the one that runs this), with the versions of `constraints.txt`. There, outside the repository, the
first example of README.md must print what README.md says, and every command of COMMANDS must succeed. With `--pages`
the wheel is then given its extras, and every block of code of README.md, the start page and the guides runs there as
written (six CPU minutes more). Exit status 1 where anything fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    "--version",
    "list solvers",
    "generate preemption --preset small --seed 0 -o instance.json",
    "solve instance.json -o plan.json",
    "check instance.json plan.json",
    "pareto instance.json total_score victim_count",
    "simulate fifo fitgpp --trace synthetic:z --set jobs=300",
    "generate admission --preset small -o state.json",
    "judge state.json",
    "list experiments",
    "doctor",
)
#: What the pages' blocks need besides the wheel, and the files that run them.
EXTRAS = "plot,testing,frames,learn,dask,certify"
NEEDED = (
    "README.md",
    "pyproject.toml",
    "docs",
    "examples",
    "tests/conftest.py",
    "tests/documentation.py",
    "tests/draws.py",
    "tests/docs/test_code_blocks.py",
)


def run(command: list[str | Path], folder: Path) -> str:
    """Output of a command that must succeed, without any way back into the repository."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MLSCHED", "VIRTUAL"))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        shown = " ".join(str(part) for part in command)
        raise SystemExit(f"status {done.returncode}: {shown}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def promised() -> tuple[str, list[str]]:
    """The first example of README.md, and the lines that its comments say it prints."""
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    return code[1], re.findall(r"^print\(.*\)  # (.*)$", code[1], re.MULTILINE)


def exercise(archive: Path, python: str, folder: Path) -> None:
    """Install an archive into an empty environment and use it."""
    home = folder / "environment"
    if python == sys.executable:
        venv.create(home, with_pip=True, clear=True)
    else:
        run([python, "-m", "venv", "--clear", home], folder)
    inside = home / "bin"
    run([inside / "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", archive], folder)
    where = run([inside / "python", "-c", "import mlsched; print(mlsched.__file__)"], folder).strip()
    assert Path(where).is_relative_to(home), where
    code, lines = promised()
    found = run([inside / "python", "-c", code], folder).splitlines()
    assert found == lines, f"README.md promises {lines}, the wheel prints {found}"
    for command in COMMANDS:
        run([inside / "mlsched", *command.split()], folder)
    print(f"{archive.name}: installed and used with {run([inside / 'python', '--version'], folder).strip()}")


def run_pages(wheel: Path, folder: Path) -> None:
    """Run the pages' blocks of code in the environment of a wheel, in a copy of the pages without the library."""
    inside, copy = folder / "environment" / "bin", folder / "pages"
    wanted = [f"{wheel}[{EXTRAS}]", "pytest"]
    run([inside / "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", *wanted], folder)
    for name in NEEDED:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    call = [inside / "python", "-m", "pytest", "-q", "--hypothesis-profile", "thorough", NEEDED[-1]]
    print(run(call, copy).strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="*", default=[sys.executable], help="interpreters, 3.11 or newer")
    parser.add_argument("--keep", type=Path, help="folder for wheel and sdist (default: they are thrown away)")
    parser.add_argument("--pages", action="store_true", help="run every block of code of README, start and guides, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        tools, built = folder / "tools", given.keep or folder / "dist"
        venv.create(tools, with_pip=True)
        run([tools / "bin" / "pip", "install", "--quiet", "build", "twine"], folder)
        run([tools / "bin" / "python", "-m", "build", "--outdir", built.resolve(), ROOT], folder)
        archives = sorted(built.resolve().iterdir(), reverse=True)
        print(run([tools / "bin" / "twine", "check", "--strict", *archives], folder).strip())
        for python in given.python:
            for archive in archives:
                exercise(archive, python, folder)
            if given.pages:  # the wheel comes last: its environment is still there
                run_pages(next(a for a in archives if a.suffix == ".whl"), folder)


if __name__ == "__main__":
    main()
