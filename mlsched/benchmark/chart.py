"""Charts as SVG text: steps, lines and marks in the colours of the page around them.

A report has dozens of small charts. Matplotlib takes a third of a second for one and fixes its colours; here a chart
takes a millisecond, follows the page's theme, and its text is text.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping, Sequence

from mlsched.benchmark.axes import Axis
from mlsched.benchmark.theme import line_style

Points = Sequence[tuple[float, float]]

#: Size in pixels, and the room that the texts take at each side.
WIDTH, HEIGHT = 360, 270
LEFT, RIGHT, TOP, BOTTOM = 68, 12, 30, 44
SIZE = 12


@dataclasses.dataclass(frozen=True)
class Series:
    """What is drawn in one style. line: joined points; filled, hollow, ticks: marks at points."""

    name: str
    style: int
    line: Points = ()
    filled: Points = ()
    hollow: Points = ()
    ticks: Points = ()


def steps(points: Points) -> list[tuple[float, float]]:
    """The line that stays at each point's height until the next point."""
    corners: list[tuple[float, float]] = []
    for x, y in points:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return corners


def chart(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """One chart; what a reader hears of it is its title and its axes."""
    spoken = html.escape(f"{title}: {y.label} over {x.label}")
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{spoken}" font-size="{SIZE}">',
        f'<text x="4" y="15" font-weight="600" fill="var(--ink)">{html.escape(title)}</text>',
        *_grid(x, y),
        *(_series(one, x, y, _width(k, len(series))) for k, one in enumerate(series)),
        "</svg>",
    ]
    return "".join(parts)


def legend(names: Mapping[str, int]) -> dict[str, str]:
    """Name -> a sample of its line; `names` gives the styles."""
    entries = {}
    for name, style in names.items():
        entries[name] = (
            f'<svg viewBox="0 0 32 10" aria-hidden="true"><line x1="0" x2="32" y1="5" y2="5" {_stroke(style)}/></svg>'
        )
    return entries


def _width(index: int, count: int) -> float:
    """Of several lines the first ones are wider, so that equal ones do not hide each other."""
    return 1.6 + 2.4 * (count - 1 - index) / (count - 1) if count > 1 else 2


def _stroke(style: int, width: float = 2) -> str:
    colour, dashes = line_style(style)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'fill="none" stroke="{colour}" stroke-width="{width:.3g}"{dashed}'


def _place(axis: Axis, value: float, *, upright: bool) -> float:
    if upright:
        return round(HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM), 1)
    return round(LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT), 1)


def _grid(x: Axis, y: Axis) -> list[str]:
    """Lines at round values, their texts, and what the axes are."""
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    elements = []
    for value in x.ticks():
        at = _place(x, value, upright=False)
        elements.append(f'<path d="M{at} {TOP}V{floor}" stroke="var(--rule)"/>')
        end = "end" if at > right - 10 else "middle"
        elements.append(_text(at, floor + 16, x.write(value), end))
    for value in y.ticks():
        at = _place(y, value, upright=True)
        elements.append(f'<path d="M{LEFT} {at}H{right}" stroke="var(--rule)"/>')
        elements.append(_text(LEFT - 6, at + 4, y.write(value), "end"))
    elements.append(f'<path d="M{LEFT} {TOP}V{floor}H{right}" fill="none" stroke="var(--soft)"/>')
    elements.append(_text((LEFT + right) / 2, HEIGHT - 8, x.label, "middle"))
    middle = (TOP + floor) / 2
    turned = f'transform="rotate(-90 12 {middle})"'
    elements.append(_text(12, middle, y.label, "middle", turned))
    return elements


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="var(--soft)" {more}>{html.escape(words)}</text>'


def _series(one: Series, x: Axis, y: Axis, width: float) -> str:
    colour, _ = line_style(one.style)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return _place(x, point[0], upright=False), _place(y, point[1], upright=True)

    parts = []
    if one.line:
        path = "L".join(f"{a:g} {b:g}" for a, b in map(at, one.line))
        parts.append(f'<path d="M{path}" stroke-linejoin="round" {_stroke(one.style, width)}/>')
    for fill, points in ((colour, one.filled), ("none", one.hollow)):
        for a, b in map(at, points):
            parts.append(f'<circle cx="{a:g}" cy="{b:g}" r="3" fill="{fill}" fill-opacity=".55" stroke="{colour}"/>')
    for a, b in map(at, one.ticks):
        parts.append(f'<path d="M{a:g} {b - 5:g}v10" stroke="{colour}" stroke-width="1.5"/>')
    return f'<g class="series" data-name="{html.escape(one.name)}">{"".join(parts)}</g>'
