"""What pages are made of: colours that can be read, axes with round values, cells that sort."""

from __future__ import annotations

import itertools

import pytest

from mlsched.benchmark import html, theme
from mlsched.benchmark.axes import Axis, logarithmic


def luminance(colour):
    """The relative luminance of WCAG 2.2."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
def test_everything_stands_out_from_its_ground(side):
    colours = {name: pair[side] for name, pair in theme.COLOURS.items()}
    for ground, ink in itertools.product(("ground", "band"), ("ink", "soft", "link", "good", "bad")):
        assert contrast(colours[ground], colours[ink]) >= 4.5, (ground, ink)
    assert contrast(colours["best"], colours["good"]) >= 4.5
    for k in range(theme.LINES):
        assert contrast(colours["ground"], colours[f"line-{k}"]) >= 3, k


def test_lines_have_28_styles():
    assert len({theme.line_style(k) for k in range(28)}) == 28
    assert theme.line_style(28) == theme.line_style(0)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis("", 0, 1.02), [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (Axis("", 1, 1.1), [1, 1.02, 1.04, 1.06, 1.08, 1.1]),
        (Axis("", 1, 3.2, log=True), [1, 2]),
        (Axis("", 0.001, 20, log=True), [0.001, 0.01, 0.1, 1, 10]),
        (Axis("", 230, 290, log=True), [240, 260, 280]),
        (Axis("", 1, 1e14, log=True), [1, 1e3, 1e6, 1e9, 1e12]),
    ],
)
def test_axes_have_round_values(axis, ticks):
    assert axis.ticks() == pytest.approx(ticks)
    assert all(0 <= axis.share(value) <= 1 for value in axis.ticks())


def test_a_logarithmic_axis_holds_one_value():
    axis = logarithmic("", [5, 5])
    assert 0.4 < axis.share(5) < 0.6
    assert axis.ticks()


def test_cells_stand_by_what_they_are_and_sort_by_their_keys():
    rows = [["6x3", "20.0 %", html.Cell("340 µs", 0.00034)], ["6x5", "1: +7", html.Cell("", None)]]
    made = html.table(["preset", "gap", "time"], rows)
    assert '<th scope=row class="text">6x3</th><td>20.0 %</td><td data-key="0.00034">340 µs</td>' in made
    assert "<td>1: +7</td><td></td>" in made
    assert "button" not in html.table(["a"], [["b"]], sortable=False)


def test_a_table_of_sentences_is_a_list_on_a_phone():
    long = "a sentence that is far too long for one line"
    shown = html.table(["verdict", "claim", "tested"], [["holds", long, f"1.00 {long}"]])
    assert '<table class="words">' in shown
    assert f'<td data-title="tested" class="text sentence">1.00 {long}</td>' in shown, "no number, though it begins so"
    assert "data-title" not in html.table(["solver", "gap", "why"], [["fitgpp", "1.0 %", long]])


def test_a_picture_scrolls_by_itself():
    assert html.picture("<?xml?><svg></svg>", "a < b") == (
        '<figure><div class="scroll"><svg></svg></div><figcaption>a &lt; b</figcaption></figure>'
    )


def test_contents_list_sections_and_their_parts():
    made = html.page(
        "t", [html.heading("A & B"), html.heading("part", 3), html.heading("part", 3), html.heading("C")], summary=""
    )
    assert (
        '<ol><li><a href="#s1">A &amp; B</a><ul><li><a href="#s2">part</a></li><li><a href="#s3">part</a></li></ul>'
        '</li><li><a href="#s4">C</a></li></ol>' in made
    )
    assert '<h3 id="s3">part</h3>' in made
    assert "<nav" not in html.page("t", [html.heading("only")], summary="")


def test_the_summary_comes_before_the_contents_and_the_sections():
    page = html.page("t", [html.heading("A"), html.heading("B")], summary=html.table(["best"], [["fifo"]]))
    body = page.partition("<body>")[2]
    assert body.index("<table") < body.index("<nav") < body.index("<main")
