"""A matplotlib figure as part of a page: in the colours of the page's theme, with text as text."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from mlsched.benchmark import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Matplotlib's black, white and grey, and plan colours that vanish on a dark ground -> colours of the page.
INK = {"#000000": "ink", "#333333": "ink", "#2e4057": "line-6", "#b0b0b0": "soft", "#808080": "soft"}


def inline_svg(figure: Figure, label: str, key: str) -> str:
    """Return the figure as an SVG element.

    Args:
        figure: The figure.
        label: Description for screen readers.
        key: Identifier that is unique within the page.
    """
    import matplotlib
    import matplotlib.colors

    for ground in (figure.patch, *(axes.patch for axes in figure.axes)):
        ground.set_alpha(0)
    for axes in figure.axes:
        for label_of_bar in axes.texts:  # black labels on bars stay black on any ground
            if matplotlib.colors.same_color(label_of_bar.get_color(), "black"):
                label_of_bar.set_color("#010101")
        if (box := axes.get_legend()) is not None:
            box.set_frame_on(False)
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        text = plots.svg(figure)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r'(url\(|href=")#', rf"\1#{key}-", text)
    text = re.sub(r"font-family:[^;\"]*", "font-family: sans-serif", text)
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font: \1 sans-serif", text)
    for colour, name in INK.items():
        text = text.replace(colour, f"var(--{name})")
    # Text without its own fill is black; white edges separate bars on any ground.
    text = re.sub(r"stroke: #ffffff", "stroke: var(--ground)", text)
    width, height = (72 * inches for inches in figure.get_size_inches())
    text = text.replace(f'width="{width:g}pt" height="{height:g}pt" ', "", 1)
    # Limits of the size: text stays readable, and smaller screens scroll.
    sizes = f"width:100%;max-width:{1.3 * width:.0f}px;min-width:{0.85 * width:.0f}px"
    opening = f'<svg role="img" aria-label="{html.escape(label)}" fill="var(--ink)" style="{sizes}" '
    return opening + text.removeprefix("<svg ").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "", 1)
