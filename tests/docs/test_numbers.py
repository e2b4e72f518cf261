"""The numbers in the documentation are those of recorded results."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def _results() -> Any:
    spec = importlib.util.spec_from_file_location("docs_results", ROOT / "tools" / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RESULTS = _results()
DOCUMENT = {
    "share": 0.4567,
    "claims": [{"name": "less-loss", "measured": {"mean": 23.456, "half": 4.5}}],
    "tables": [
        {"name": "plain", "header": ["rule", "gap"], "rows": [["fifo", 3], ["srpt", None]]},
        {
            "name": "estimates",
            "header": ["load", "cut"],
            "rows": [{"label": "1.2", "numbers": [{"measured": 23.456, "ci95": 4.52, "paper": 45, "deviation": -0.4}]}],
        },
    ],
}
PAGE = """# Loss

`tool measure --json` says that the loss falls by
23 ± 4.5 %, and "73 %" is the paper's.

<!-- table cut.estimates -->
| load | cut |
| --- | --- |
| 1.2 | 23.5 ± 4.5 (45) |
<!-- end -->
"""
SENTENCE = "falls by {claims[less-loss][measured][mean]:.0f} ± {claims[less-loss][measured][half]:sig2} %"


def test_a_quick_run_shows_the_verdicts_that_are_recorded() -> None:
    assert RESULTS.RECORDED.read_text(encoding="utf-8") == RESULTS.verdicts(), "run python tools/results.py"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "results").mkdir(parents=True)
    (tmp_path / "README.md").write_text("Nothing measured.\n")
    (folder / "loss.md").write_text(PAGE)
    (folder / "results" / "cut.json").write_text(json.dumps({"command": "tool measure --json", "document": DOCUMENT}))
    _list(folder, SENTENCE)
    return folder


def _list(folder: Path, text: str) -> None:
    listed = f'complete = ["loss.md"]\n[[sentence]]\npage = "loss.md"\nsource = "cut"\ntext = "{text}"\n'
    (folder / "sentences.toml").write_text(listed)


def test_the_pages_say_what_was_recorded() -> None:
    assert RESULTS.faults() == []


def test_a_page_that_agrees_has_no_fault(docs: Path) -> None:
    assert RESULTS.faults(docs) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("23 ±", "24 ±", "does not say: falls by 23 ± 4.5 %"),
        ("23.5", "23.6", "a table is not as recorded"),
        ("`tool measure --json`", "A tool", "does not name the command"),
        ("paper's.", "paper's, and 12 % more.", "no recorded result holds"),
        ("paper's.", "paper's, or 7 ± 2 s.", "no recorded result holds"),
    ],
)
def test_a_page_that_says_something_else_is_found(docs: Path, old: str, new: str, fault: str) -> None:
    (docs / "loss.md").write_text(PAGE.replace(old, new, 1))
    assert any(fault in found for found in RESULTS.faults(docs))


def test_pages_in_folders_are_held_too(docs: Path) -> None:
    for folder, name in ((docs / "guides", "guides/gap.md"), (docs.parent / "research", "research/gap.md")):
        folder.mkdir()
        (folder / "gap.md").write_text(PAGE.replace("23.5", "23.6", 1))
        assert [found for found in RESULTS.faults(docs) if found.startswith(f"{name}: a table is not as recorded")]


def test_tables_are_written_as_recorded(docs: Path) -> None:
    assert RESULTS.with_tables(PAGE.replace("23.5", "99"), docs) == PAGE
    empty = "<!-- table cut.plain -->\n<!-- end -->"
    assert "| fifo | 3 |\n| srpt |  |\n<!-- end -->" in RESULTS.with_tables(empty, docs)


def test_a_page_may_show_some_rows_and_columns(docs: Path) -> None:
    asked = "<!-- table cut.plain | rows: srpt;\nfifo | columns: gap -->\n"
    shown = "| rule | gap |\n| --- | --- |\n| srpt |  |\n| fifo | 3 |\n"
    assert RESULTS.with_tables(f"{asked}<!-- end -->", docs) == f"{asked}{shown}<!-- end -->"
    one = RESULTS.with_tables("<!-- table cut.estimates | rows: 1.2 -->\n<!-- end -->", docs)
    assert "| 1.2 | 23.5 ± 4.5 (45) |\n" in one
    for wrong in ("rows: las", "columns: load"):
        with pytest.raises(SystemExit, match=rf"cut\[plain\] has no entry '{wrong.split()[1]}'"):
            RESULTS.with_tables(f"<!-- table cut.plain | {wrong} -->\n<!-- end -->", docs)


def claim_of(name: str, verdict: str, where: str = "Fig. 1", **more: Any) -> dict[str, Any]:
    """A claim in a report's JSON."""
    words = {"name": name, "text": "cuts it by 25 %", "where": where, "tested": "at least 25", "origin": "measured"}
    return (
        words | {"verdict": verdict, "summary": "12 % to 30 %", "excluded": {}, "chance": [], "measurements": []} | more
    )


def piece_of(mean: float, **more: Any) -> dict[str, Any]:
    """A measurement of a claim in a report's JSON."""
    piece = {"interpretation": "A", "what": "cut", "measured": {"mean": mean, "half": 1.0, "count": 8}, "paper": 25.0}
    return piece | {"bound": {"low": 20.0, "high": None, "strict": False}, "unit": "%", "lower_bound": True} | more


def test_verdicts_are_counted_by_paper(docs: Path) -> None:
    for sources in RESULTS.EXPERIMENTS.values():
        for source in sources:
            held = claim_of("a", "holds", measurements=[piece_of(30.0)])
            said = [held, claim_of("b", "undecided", "ours"), claim_of("c", "not measured")]
            if source == "harmony-rack":
                said = [claim_of("c", "does not hold", measurements=[piece_of(10.0)])]
            document = {"command": "mlsched", "document": {"claims": said}}
            (docs / "results" / f"{source}.json").write_text(json.dumps(document))
    page = RESULTS.with_tables("<!-- verdicts -->\n<!-- end -->\n\nMore.\n<!-- end -->", docs)
    assert "<!-- end -->\n\nMore.\n<!-- end -->" in page
    assert "| FitGpp (OpML 2019) | 2 | 1 | 1.0 of 1 | 0 | 0 | 0 | 1 |\n" in page
    assert "| Harmony (INFOCOM 2019) | 2 | 1 | 2.0 of 2 | 1 | 0 | 0 | 0 |\n" in page, "a later record adds to one"
    papers = len(RESULTS.papers())
    row = f"| together | {2 * papers} | {papers} | {papers + 1}.0 of {papers + 1} | 1 | 0 | 0 | {papers - 1} |"
    assert f"{row}\n<!-- end -->" in page
    assert set(RESULTS.papers()) == set(RESULTS.EXPERIMENTS) - {"findings"}
    board = RESULTS.with_tables("<!-- scoreboard -->\n<!-- end -->", docs)
    assert "| FitGpp (OpML 2019) | not measured | – | 1 of 1 | – | 1 | 0 |\n" in board
    assert "| SLAQ (SoCC 2017) | 1 | 1.0 | 1.0 | 1.0 | 1.0 | 1.0 |\n" in RESULTS.with_tables(
        "<!-- power -->\n<!-- end -->", docs
    )


def test_claims_are_shown_with_the_range_of_their_evidence() -> None:
    piece = piece_of(10.0, bound={"low": 25.0, "high": None, "strict": False})
    many = [piece | {"paper": 20.0 + k} for k in range(3)]
    claims = [
        claim_of("c", "does not hold", measurements=[piece]),
        claim_of("c", "not measured", summary="not measured"),
        claim_of("c", "does not hold", measurements=[piece, piece | {"paper": 20.0}]),
        claim_of("c", "does not hold", "ours", measurements=many),
    ]
    assert RESULTS.of_claims(claims)["rows"] == [
        ["cuts it by 25 %", "Fig. 1", "≥ 25 %", "12 % to 30 %", "does not hold", "4 %"],
        ["cuts it by 25 %", "Fig. 1", "", "not measured", "not measured", "–"],
        ["cuts it by 25 %", "Fig. 1", "≥ 25 % and ≥ 20 %", "12 % to 30 %", "does not hold", "0 %"],
        ["cuts it by 25 %", "ours", "", "12 % to 30 %", "does not hold", "–"],
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{share:100*.0f} %", "46 %"), ("{share:sig2}", "0.46"), ("{tables[plain][rows][fifo][1]:.0f}", "3")],
)
def test_numbers_are_named_by_their_place(docs: Path, text: str, said: str) -> None:
    assert RESULTS.said({"source": "cut", "text": text}, docs) == said


def test_what_is_not_there_is_named(docs: Path) -> None:
    with pytest.raises(SystemExit, match=r"cut\[claims\] has no entry 'more-loss'"):
        RESULTS.said({"source": "cut", "text": "{claims[more-loss][measured][mean]}"}, docs)
    with pytest.raises(SystemExit, match=r"nothing\.json is missing; record it"):
        RESULTS.result("nothing", docs)


def test_a_command_is_recorded_with_what_it_prints(docs: Path) -> None:
    print_it = 'import json; print(json.dumps({"figures": [1], "value": 1 / 3}))'
    RESULTS.record("third", ["python", "-c", print_it], docs)
    kept = RESULTS.result("third", docs)
    assert kept["document"] == {"value": 0.333333}
    assert kept["command"].startswith("python -c ")
    with pytest.raises(SystemExit, match="as readers would type it"):
        RESULTS.record("third", ["/usr/bin/python3", "x.py"], docs)


def test_a_printed_lower_bound_is_shown_as_one() -> None:
    number = {"measured": 30.0, "ci95": 2.0, "paper": 25.0}
    assert RESULTS.cell(number) == "30 ± 2 (25)"
    assert RESULTS.cell(number | {"lower_bound": True}) == "30 ± 2 (≥ 25)"
