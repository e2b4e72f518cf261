"""Options, Hypothesis profiles and fixtures that every test may use.

pytest -n auto --dist worksteal           # on all cores, as `make test` does
pytest --hypothesis-profile thorough      # default: `ci` when $CI is set, else `fast`
pytest --solvers cp-sat,highs             # the solvers that tests with the argument `solver` run on; default: all
"""

from __future__ import annotations

import gc
import gzip
import itertools
import os
import signal
import sys
import time
import types
from pathlib import Path

# Threads of NumPy, SciPy and torch wait for each other at several times the cost of what they do; read at their import.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Else every process that a test starts compiles the library anew where the environment keeps no bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Workers of pytest-xdist are told a terminal of 80 columns, which the command line would obey.
os.environ.pop("COLUMNS", None)

import pytest
from hypothesis import HealthCheck, settings

# Nor need the tests be compiled anew by every run of them.
sys.dont_write_bytecode = False
# Collecting only ever adds: the search for garbage among what it adds was a quarter of its cost.
gc.disable()

QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("fast", max_examples=10, deadline=None, suppress_health_check=QUIET)
settings.register_profile(
    "ci", max_examples=10, deadline=None, suppress_health_check=QUIET, derandomize=True, print_blob=True
)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=QUIET)
settings.load_profile("ci" if os.environ.get("CI") else "fast")

#: Lines that tests want printed at the end of the run, whatever pytest captures, by title.
SECTIONS = pytest.StashKey[dict[str, list[str]]]()


class Sampled:
    """Whether the next trusted record is validated: the first hundred of a test, and every twentieth after them.

    For tests of what is made of runs, rules and policies among it: snapshots say the same hundreds of times. The tests
    of the worlds that make them validate each; in the thorough profile every test does.
    """

    #: Folders whose tests validate every record.
    EACH = frozenset({"core", "instances", "simulation"})
    ALL, THEN_EVERY = 100, 20

    def __init__(self) -> None:
        self.asked = 0

    def __bool__(self) -> bool:
        self.asked += 1
        return self.asked <= self.ALL or self.asked % self.THEN_EVERY == 0


def pytest_addoption(parser):
    parser.addoption("--solvers", default=None, help="comma list of exact solvers to test (default: all registered)")


def pytest_configure(config):
    config.stash[SECTIONS] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """What is imported and collected by now stays: searches for garbage pass it by, and come more rarely.

    Also in the process that only hands tests to others, and collects none.
    """
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Records built by the trusted path are validated; processes that a test starts run as a user's do."""
    from mlsched.core import record

    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    each = folder in Sampled.EACH or settings().max_examples >= 1000
    record.validate_trusted = True if each else Sampled()


def model_solvers() -> list[str]:
    """Names of the registered solvers that hand a model to a solver."""
    from mlsched.core.registry import registry

    exact = registry().available(kind="exact")
    return sorted({a.name for a in exact if a.solved_by is not None and not a.restricted})


def pytest_generate_tests(metafunc):
    named = {name for mark in metafunc.definition.iter_markers("parametrize") for name in (mark.args[0],)}
    if "solver" in metafunc.fixturenames and "solver" not in named:
        known, text = model_solvers(), metafunc.config.getoption("--solvers")
        chosen = known if text is None else [name.strip() for name in text.split(",")]
        if unknown := sorted(set(chosen) - set(known)):
            raise pytest.UsageError(f"--solvers: no solver {', '.join(unknown)}; there are {', '.join(known)}")
        metafunc.parametrize("solver", chosen)


def pytest_sessionfinish(session):
    """A worker of pytest-xdist hands its sections to the controller: only that prints."""
    if hasattr(session.config, "workeroutput"):
        sections = session.config.stash[SECTIONS]
        session.config.workeroutput["sections"] = {t: [str(line) for line in lines] for t, lines in sections.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """The controller takes them; a worker that died has none."""
    node.config.stash[SECTIONS].update(getattr(node, "workeroutput", {}).get("sections", {}))


def pytest_terminal_summary(terminalreporter, config):
    """Print the sections by title: workers finish in any order."""
    for title, lines in sorted(config.stash[SECTIONS].items()):
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def report(pytestconfig):
    """`report(title, lines)`: lines to print under `title` at the end of the run."""
    return pytestconfig.stash[SECTIONS].__setitem__


@pytest.fixture
def ticking(monkeypatch):
    """`ticking(module, seconds=1000.0)`: every look of `module` at the clock finds it so many seconds later.

    With it a limit of n and a half times `seconds` is used up at the n-th look, on every machine; what is handed on of
    it to a solver is too much to be used up.
    """

    def start(module: types.ModuleType, seconds: float = 1000.0) -> None:
        looks = itertools.count()
        clock = types.SimpleNamespace(**{**vars(time), "perf_counter": lambda: seconds * next(looks)})
        monkeypatch.setattr(module, "time", clock)

    return start


@pytest.fixture
def control_c():
    """`control_c()`: the signal that Ctrl-C sends, also where the tests run in the background and would not get it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def quick_bounds():
    """Bounds of runs are valid and looser: for tests of what shows them; what finds them has tests of its own.

    None is kept for the tests of other modules.
    """
    from mlsched.simulation import run
    from mlsched.simulation.bound import completion

    few = {pausing: completion.Effort(1, 5, 1, effort.work) for pausing, effort in completion.OF_RUNS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion, "OF_RUNS", few)
        yield
    run._bound.cache_clear()


@pytest.fixture(scope="session")
def scale() -> int:
    """Number of instances for tests that count them: 2000 in the thorough profile, 40 otherwise."""
    return 2000 if settings().max_examples >= 1000 else 40


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets: `data/` in $MLSCHED_DATA (default `../shared` from the repository root)."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("MLSCHED_DATA", root.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}: set MLSCHED_DATA to the folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def known_optima() -> Path:
    """Outside instances with published optima: `known_optima/` in $MLSCHED_DATA (default `../shared`)."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("MLSCHED_DATA", root.parent / "shared")) / "known_optima"
    if not folder.is_dir():
        pytest.skip(f"no published optima at {folder}: set MLSCHED_DATA to the folder that holds known_optima/")
    return folder


@pytest.fixture
def write(tmp_path):
    """`write(text, name="log.csv")`: a file of this text in the test's own folder, compressed as .gz; its path."""

    def write(text: str, name: str = "log.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write
