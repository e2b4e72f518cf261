"""The notebooks run from their first cell to their last in a fresh kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "install" not in cell.metadata.get("tags", [])]
    # A time limit that a busy machine does not reach: it ends a cell that hangs.
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 2  # tables, not representations


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
