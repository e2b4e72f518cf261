"""The notebooks run from their first cell to their last in a fresh kernel."""

from __future__ import annotations

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
    # A time limit that a busy machine does not reach: it ends a cell that hangs.
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 2  # tables, not representations


def test_there_are_two() -> None:
    assert len(NOTEBOOKS) == 2
