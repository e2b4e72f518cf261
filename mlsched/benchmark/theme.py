"""Colours of a page for light and dark screens, and their style sheet."""

from __future__ import annotations

from importlib import resources

#: Name of a colour -> on a light and on a dark ground. Text has a contrast of at least 4.5 to the grounds, lines of 3
#: (WCAG 2.2, 1.4.3 and 1.4.11). The lines are Okabe and Ito's colours, which colour-blind readers distinguish, darker
#: or lighter as the contrast requires.
COLOURS = {
    "ground": ("#ffffff", "#12161c"),
    "band": ("#f2f5f9", "#1c232d"),
    "best": ("#dcf2e6", "#123d2b"),
    "ink": ("#1c2430", "#e4e8ee"),
    "soft": ("#515c6b", "#a8b2bf"),
    "link": ("#0a58a8", "#82bbf7"),
    "good": ("#0b6141", "#74d7a6"),
    "bad": ("#a8001f", "#ff9494"),
    "rule": ("#d5dbe4", "#39434f"),
    "line-0": ("#0072b2", "#3fa2e0"),
    "line-1": ("#cc5500", "#f5813c"),
    "line-2": ("#00805e", "#1fc096"),
    "line-3": ("#b5488a", "#df93bf"),
    "line-4": ("#9a6a00", "#e8ab2e"),
    "line-5": ("#2b88bd", "#7fcaf2"),
    "line-6": ("#444444", "#bfc5cc"),
}
#: Dashes of lines, in pixels; with the seven colours they give 28 styles.
DASHES = ("", "7 3", "2 3", "8 3 2 3")
LINES = sum(name.startswith("line-") for name in COLOURS)


def line_style(index: int) -> tuple[str, str]:
    """Return CSS colour and dashes of the index-th line."""
    return f"var(--line-{index % LINES})", DASHES[index // LINES % len(DASHES)]


def style_sheet() -> str:
    """Return the style sheet: the reader's preference decides, unless the page's button (`data-theme`) overrides it."""
    light, dark = ("".join(f"--{name}:{pair[i]};" for name, pair in COLOURS.items()) for i in (0, 1))
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n" + _read_resource("page.css")
    )


def page_script() -> str:
    """Return the script that sorts tables, switches the theme and highlights one line of a picture."""
    return _read_resource("page.js")


def _read_resource(name: str) -> str:
    return resources.files("mlsched.benchmark").joinpath(name).read_text(encoding="utf-8")
