"""Tables and figures for papers: a plain `article` takes them as they are, without overfull boxes."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from benchmark_examples import row, rule

from mlsched.benchmark.export import export
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.text_table import TextTable, to_latex, to_markdown
from mlsched.core.contract import Primary

SOLVERS = ("conservative-backfill", "fitgpp:s=8.0", "tiresias-gittins", "a_rule_of_mine")
DOCUMENT = r"""\documentclass%s{article}
\usepackage{booktabs,graphicx}
\begin{document}
Tables~\ref{tab:p-cost}, \ref{tab:ranked} and \ref{tab:wide}.
%s
\end{document}
"""
FIGURE = r"\begin{figure}\centering\includegraphics[width=\linewidth]{%s}\caption{A figure.}\end{figure}"


def answers(presets=("small", "large"), **changes):
    found = []
    for number, preset in enumerate(presets):
        for k in range(12):
            where = {"instance_hash": f"{preset}{k}", "seed": k, "preset": preset, "cpu_seconds": 0.1, **changes}
            found.append(row(sort_key=1000, **where))
            for at, name in enumerate(SOLVERS):
                found.append(rule(1000 + 37 * ((k * (at + 1)) % 7) * (number + 1), solver=name, **where))
    return with_gaps(found)


def compiled(folder, options, parts):
    """The log of LaTeX; the test is skipped without one."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-recommended")
    (folder / "paper.tex").write_text(DOCUMENT % (options, "\n".join(parts)), encoding="utf-8")
    for _ in range(2):  # labels are known in the second
        call = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        assert done.returncode == 0, done.stdout[-3000:]
    return (folder / "paper.log").read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("options", ["", "[twocolumn]"])
def test_three_tables_and_two_figures_compile_without_overfull_boxes(tmp_path, options):
    rows = answers()
    rank = Primary("deferred jobs", 10**6)
    export(rows, tmp_path / "compact.tex")
    export(rows, tmp_path / "all.tex", columns=["all"])
    (tmp_path / "all.tex").write_text((tmp_path / "all.tex").read_text().replace("tab:p-cost", "tab:wide"))
    zero = with_gaps([row(sort_key=0, primary=rank), rule(10**6 + 3, primary=rank), rule(3, solver="b", primary=rank)])
    export(zero, tmp_path / "ranked.tex")
    (tmp_path / "ranked.tex").write_text((tmp_path / "ranked.tex").read_text().replace("tab:p-cost", "tab:ranked"))
    for name in ("gaps", "profile"):
        export(answers(("small",)), tmp_path / f"{name}.pdf", figure=name)
    parts = [rf"\input{{{name}}}" for name in ("compact", "all", "ranked")]
    log = compiled(tmp_path, options, [*parts, *(FIGURE % name for name in ("gaps", "profile"))])
    assert not re.findall(r"^(?:Overfull|LaTeX Warning: Reference).*", log, re.MULTILINE)
    assert "no pages" not in log


def test_every_sign_of_a_cell_is_printed(tmp_path):
    signs = '& % $ # _ { } ~ ^ \\ < > ≥ ≤ ± × → – µ | " ['
    table = TextTable(signs, ["name", "number"], [[signs, "1"], ["[a]", "*"], ["*b", "2"]], (signs,), "signs")
    (tmp_path / "signs.tex").write_text(to_latex(table), encoding="utf-8")
    log = compiled(tmp_path, "", [r"\input{signs}"])
    assert "Missing character" not in log


def test_headings_of_rows_and_escapes():
    table = TextTable("of_all", ["solver", "n"], [["small"], ["a|b", "1"], ["large"], ["[c]", "2"]], ("A note.",), "x")
    assert to_markdown(table) == (
        "**of_all**\n\n| solver | n |\n| --- | ---: |\n| *small* |  |\n| a\\|b | 1 |\n| *large* |  |\n| [c] | 2 |\n"
        "\nA note.\n"
    )
    latex = to_latex(table)
    assert "\\multicolumn{2}{@{}l}{\\emph{small}} \\\\\na\\textbar{}b & 1 \\\\\n\\addlinespace\\multicolumn" in latex
    assert "{}[c] & 2 \\\\\n\\bottomrule" in latex
    assert r"\label{tab:x}" in latex
    assert "resizebox" not in latex
