"""Charts as SVG text: steps, lines and marks in the colours of the surrounding page.

A report has dozens of small charts. Matplotlib takes a third of a second for each and fixes its colours. Here a chart
takes a millisecond, follows the page's theme, and keeps its text as text.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping, Sequence

from mlsched.benchmark.axes import Axis
from mlsched.benchmark.theme import line_style

Points = Sequence[tuple[float, float]]

#: Size in pixels, and the margins for texts.
WIDTH, HEIGHT = 360, 270
LEFT, RIGHT, TOP, BOTTOM = 68, 12, 30, 44
SIZE = 12


@dataclasses.dataclass(frozen=True)
class Series:
    """Data drawn in one style: a line of joined points, and filled, hollow and tick marks."""

    name: str
    style: int
    line: Points = ()
    filled: Points = ()
    hollow: Points = ()
    ticks: Points = ()


def steps(points: Points) -> list[tuple[float, float]]:
    """Return the line that keeps each point's height until the next point."""
    corners: list[tuple[float, float]] = []
    for x, y in points:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return corners


def chart(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """Return one chart; its title and axes are the description for screen readers."""
    description = html.escape(f"{title}: {y.label} over {x.label}")
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{description}" font-size="{SIZE}">',
        f'<text x="4" y="15" font-weight="600" fill="var(--ink)">{html.escape(title)}</text>',
        *_grid_elements(x, y),
        *(_series_element(one, x, y, _width(k, len(series))) for k, one in enumerate(series)),
        "</svg>",
    ]
    return "".join(parts)


def legend(names: Mapping[str, int]) -> dict[str, str]:
    """Return a sample of each line by name; `names` gives the styles."""
    entries = {}
    for name, style in names.items():
        entries[name] = (
            f'<svg viewBox="0 0 32 10" aria-hidden="true"><line x1="0" x2="32" y1="5" y2="5" {_stroke(style)}/></svg>'
        )
    return entries


def _width(index: int, count: int) -> float:
    """Return the width of a line; the first of several are wider, so that equal lines remain visible."""
    return 1.6 + 2.4 * (count - 1 - index) / (count - 1) if count > 1 else 2


def _stroke(style: int, width: float = 2) -> str:
    colour, dashes = line_style(style)
    dash_attribute = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'fill="none" stroke="{colour}" stroke-width="{width:.3g}"{dash_attribute}'


def _position(axis: Axis, value: float, *, upright: bool) -> float:
    if upright:
        return round(HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM), 1)
    return round(LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT), 1)


def _grid_elements(x: Axis, y: Axis) -> list[str]:
    """Return lines at round values with their labels, and the axes with their names."""
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    elements = []
    for value in x.ticks():
        at = _position(x, value, upright=False)
        elements.append(f'<path d="M{at} {TOP}V{floor}" stroke="var(--rule)"/>')
        end = "end" if at > right - 10 else "middle"
        elements.append(_text_element(at, floor + 16, x.write(value), end))
    for value in y.ticks():
        at = _position(y, value, upright=True)
        elements.append(f'<path d="M{LEFT} {at}H{right}" stroke="var(--rule)"/>')
        elements.append(_text_element(LEFT - 6, at + 4, y.write(value), "end"))
    elements.append(f'<path d="M{LEFT} {TOP}V{floor}H{right}" fill="none" stroke="var(--soft)"/>')
    elements.append(_text_element((LEFT + right) / 2, HEIGHT - 8, x.label, "middle"))
    middle = (TOP + floor) / 2
    rotation = f'transform="rotate(-90 12 {middle})"'
    elements.append(_text_element(12, middle, y.label, "middle", rotation))
    return elements


def _text_element(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="var(--soft)" {more}>{html.escape(words)}</text>'


def _series_element(series: Series, x: Axis, y: Axis, width: float) -> str:
    colour, _ = line_style(series.style)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return _position(x, point[0], upright=False), _position(y, point[1], upright=True)

    parts = []
    if series.line:
        path = "L".join(f"{a:g} {b:g}" for a, b in map(at, series.line))
        parts.append(f'<path d="M{path}" stroke-linejoin="round" {_stroke(series.style, width)}/>')
    for fill, points in ((colour, series.filled), ("none", series.hollow)):
        for a, b in map(at, points):
            parts.append(f'<circle cx="{a:g}" cy="{b:g}" r="3" fill="{fill}" fill-opacity=".55" stroke="{colour}"/>')
    for a, b in map(at, series.ticks):
        parts.append(f'<path d="M{a:g} {b - 5:g}v10" stroke="{colour}" stroke-width="1.5"/>')
    return f'<g class="series" data-name="{html.escape(series.name)}">{"".join(parts)}</g>'
