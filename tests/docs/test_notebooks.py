"""The notebooks run from their first cell to their last: in a fresh shell of this process, or in a kernel of their own
in the thorough profile.
"""

from __future__ import annotations

import builtins
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from draws import THOROUGH

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def _in_a_kernel(notebook: Any, folder: Path) -> list[dict[str, Any]]:
    """What its cells show, each as kinds of data."""
    # A time limit that a busy machine does not reach: it ends a cell that hangs.
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(folder)}}).execute()
    return [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]


def _in_this_process(notebook: Any) -> list[dict[str, Any]]:
    """The same by a shell with nothing in its namespace, in which what this process has imported need not be again."""
    import matplotlib.pyplot as plt
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    shown: list[dict[str, Any]] = []

    class Results(DisplayHook):
        def write_output_prompt(self) -> None: ...

        def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
            shown.append(format_dict)

    class Published(DisplayPublisher):
        def publish(self, data: dict[str, Any], metadata: Any = None, **named: Any) -> None:
            shown.append(data)

    class Shell(InteractiveShell):
        displayhook_class = Type(Results)
        display_pub_class = Type(Published)

        def enable_gui(self, gui: Any = None) -> None: ...

    backend = plt.get_backend()
    shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    try:
        with plt.rc_context():
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    shell.run_cell(cell.source).raise_error()
    finally:
        shell.restore_sys_module_state()
        Shell.clear_instance()
        plt.close("all")
        plt.switch_backend(backend)
    return shown


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.usefixtures("bounds_to_show")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    for place, name in ((builtins, "display"), (builtins, "__IPYTHON__"), (sys, "ps1")):  # and leaves these behind
        monkeypatch.setattr(place, name, None, raising=False)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "install" not in cell.metadata.get("tags", [])]
    shown = _in_a_kernel(notebook, tmp_path) if THOROUGH else _in_this_process(notebook)
    assert sum("text/html" in data for data in shown) >= 2  # tables, not representations
    assert any("image/" in kind for data in shown for kind in data)


#: What a notebook uses -> the extra that brings it.
EXTRAS = {
    "pandas": "frames",
    ".dataframe(": "frames",
    "mlsched.plot": "plot",
    ".plot(": "plot",
    "check_scheduler": "testing",
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_where_nothing_is_installed(path: Path) -> None:
    """Its first cell installs mlsched with the extras that it uses, and it reads no file of the repository."""
    first, *others = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    installed = re.fullmatch(r'%pip install --quiet "mlsched\[([\w,]+)\]"', first)
    assert installed is not None
    used = "\n".join(others)
    assert set(installed[1].split(",")) == {extra for sign, extra in EXTRAS.items() if sign in used}
    assert not re.search(r"open\(|\.\./|shared", used)
    imported = set(re.findall(r"^(?:import|from) (\w+)", used, re.MULTILINE))
    assert imported <= {"mlsched", "numpy", "pandas", "IPython"}


def test_there_are_two() -> None:
    assert len(NOTEBOOKS) == 2
