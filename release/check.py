"""Build wheel and sdist, check them, and use them as somebody would who has never seen the repository.

    python release/check.py [--matrix] [--python PYTHON ...] [--keep FOLDER] [--pages]

Both archives pass `twine check --strict`. Each is installed without extras into an empty environment of each PYTHON
(default: the one that runs this), with the versions of `constraints.txt`. There, outside the repository, the
first example of README.md must print what README.md says, and every command of COMMANDS must succeed. With `--pages`
the wheel is then given its extras, and every block of code of README.md, the start page and the guides runs there as
written (six CPU minutes more). Exit status 1 where anything fails.

With `--matrix`, the wheel is installed for every interpreter of VERSIONS, with the versions of `constraints.txt` and
again with the newest permitted ones, from wheels only: nothing is compiled. The first installation is then used under
every setting of SETTINGS. A missing interpreter or setting is skipped with a message. Debian's unstable release has
newer interpreters. As root:

    debootstrap --variant=minbase --include=python3,python3-venv,make,git sid DIR
    mount --bind /proc DIR/proc; mount --bind /dev DIR/dev; mount -t tmpfs -o mode=1777 tmpfs DIR/dev/shm
    git clone . DIR/root/mlsched && chroot DIR sh -c "cd /root/mlsched && python3 release/check.py --matrix"
    umount DIR/dev/shm DIR/dev DIR/proc

`chroot DIR apt-get install python3.13-venv` adds another version. The same chroot runs `make demo` and `make test` as
an ordinary user. Both must pass.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pwd
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


@dataclasses.dataclass(frozen=True)
class Setting:
    """Circumstances of a user: variables of the environment, and whether there is one core or no write permission."""

    name: str
    variables: tuple[tuple[str, str], ...] = ()
    one_core: bool = False
    read_only: bool = False


#: Versions of Python that the metadata names.
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PLAIN = Setting("as it is")
SETTINGS = (
    Setting("LANG=C", (("LANG", "C"), ("LC_ALL", "C"))),
    Setting("another time zone", (("TZ", "Pacific/Apia"),)),
    Setting("one core", one_core=True),
    Setting("an ordinary user and a read-only installation", read_only=True),
)


def run(command: list[str | Path], folder: Path, setting: Setting = PLAIN) -> str:
    """Output of a command that must succeed, without any way back into the repository, nor to data."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MLSCHED", "VIRTUAL"))}
    environment |= dict(setting.variables)
    options = {}
    if setting.read_only and os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        environment["HOME"] = str(folder)
    if setting.one_core:
        command = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *command]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, encoding="utf-8", **options
    )
    if done.returncode:
        shown = " ".join(str(part) for part in command)
        raise SystemExit(
            f"{setting.name}: status {done.returncode}: {shown}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


def promised() -> tuple[str, list[str]]:
    """The first example of README.md, and the lines that its comments say it prints."""
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    return code[1], re.findall(r"^print\(.*\)  # (.*)$", code[1], re.MULTILINE)


def exercise(
    archive: Path, python: str, folder: Path, *, newest: bool = False, settings: tuple[Setting, ...] = ()
) -> None:
    """Install an archive into an empty environment and use it, once more under every setting."""
    home = folder / "environment"
    shutil.rmtree(home, ignore_errors=True)
    if python == sys.executable:
        venv.create(home, with_pip=True)
    else:
        run([python, "-m", "venv", home], folder)
    inside = home / "bin"
    options = [] if newest else ["--constraint", ROOT / "constraints.txt"]
    options += ["--only-binary", ":all:"] if archive.suffix == ".whl" else []
    run([inside / "pip", "install", "--quiet", *options, archive], folder)
    for setting in (PLAIN, *settings):
        use(inside, folder, setting)
    version = run([inside / "python", "--version"], folder).strip()
    chosen = "the newest versions" if newest else "the pinned versions"
    print(f"{archive.name}: installed and used with {version}, {chosen}", flush=True)


def use(inside: Path, folder: Path, setting: Setting) -> None:
    """Run the first example of README.md and all commands in a folder of their own."""
    if setting.one_core and not (hasattr(os, "sched_getaffinity") and shutil.which("taskset")):
        print(f"skipped: {setting.name}: needs taskset (Linux)")
        return
    with tempfile.TemporaryDirectory(dir=folder) as place:
        work = Path(place)
        if setting.read_only and os.geteuid() == 0:
            shutil.chown(work, "nobody")
        elif setting.read_only:
            run(["chmod", "-R", "a-w", inside.parent], folder)
        try:
            run([inside / "python", "--version"], work, setting)
        except PermissionError:  # an interpreter in the home folder of root
            print(f"skipped: {setting.name}: may not run {os.path.realpath(inside / 'python')}")
            return
        try:
            where = run([inside / "python", "-c", "import mlsched; print(mlsched.__file__)"], work, setting).strip()
            assert Path(where).is_relative_to(inside.parent), where
            code, lines = promised()
            found = run([inside / "python", "-c", code], work, setting).splitlines()
            assert found == lines, f"{setting.name}: README.md promises {lines}, the wheel prints {found}"
            for command in COMMANDS:
                run([inside / "mlsched", *command.split()], work, setting)
        finally:
            if setting.read_only and os.geteuid() != 0:
                run(["chmod", "-R", "u+w", inside.parent], folder)


def interpreter(version: str) -> str | None:
    """Return an interpreter of that version which starts, None without any."""
    if sys.version.startswith(f"{version}."):
        return sys.executable
    found = shutil.which(f"python{version}")
    works = found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0
    return found if works else None


def check_matrix(wheel: Path, folder: Path) -> None:
    """Use the wheel with every interpreter that is there: pinned versions under all settings, then the newest ones."""
    for version in VERSIONS:
        python = interpreter(version)
        if python is None:
            print(f"skipped: python{version} is not here; `python release/check.py --help` says how to make a chroot")
            continue
        exercise(wheel, python, folder, settings=SETTINGS)
        exercise(wheel, python, folder, newest=True)


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
    parser.add_argument("--matrix", action="store_true", help="all versions of Python, pinned and newest, all settings")
    parser.add_argument("--python", nargs="*", default=[sys.executable], help="interpreters, 3.11 or newer")
    parser.add_argument("--keep", type=Path, help="folder for wheel and sdist (default: they are thrown away)")
    parser.add_argument("--pages", action="store_true", help="run every block of code of README, start and guides, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # also for an ordinary user
        tools, built = folder / "tools", given.keep or folder / "dist"
        venv.create(tools, with_pip=True)
        run([tools / "bin" / "pip", "install", "--quiet", "build", "twine"], folder)
        run([tools / "bin" / "python", "-m", "build", "--outdir", built.resolve(), ROOT], folder)
        archives = sorted(built.resolve().iterdir(), reverse=True)
        print(run([tools / "bin" / "twine", "check", "--strict", *archives], folder).strip())
        wheel = next(archive for archive in archives if archive.suffix == ".whl")
        if given.matrix:
            check_matrix(wheel, folder)
            return
        for python in given.python:
            for archive in archives:
                exercise(archive, python, folder)
            if given.pages:  # the wheel comes last: its environment is still there
                run_pages(wheel, folder)


if __name__ == "__main__":
    main()
