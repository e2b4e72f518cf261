"""The built site and two reports in a real browser: no overflow, no error, pictures that load, a search that finds."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, browser
from documentation import ROOT

from mlsched.cli.main import run

SITE = ROOT / "build" / "site"
#: Sizes of a phone and of a laptop, in pixels.
SIZES = ((390, 844), (1280, 800))
THEMES = ("light", "dark")
#: Pages of each kind: text, code, pictures, wide tables, mathematics, generated reference.
PAGES = (
    "index.html",
    "learn/start.html",
    "learn/concepts.html",
    "guides/certify.html",
    "problems/taskgraph.html",
    "reference/api.html",
    "reference/command-line.html",
    "reference/glossary.html",
    "reference/solvers.html",
    "explanation/bound.html",
    "results/index.html",
)
#: Pictures that have not loaded, once all of the page have been asked for.
BROKEN = """Promise.all(Array.from(document.images, (image) => { image.loading = "eager"; return image.decode(); })
  .map((load) => load.then(() => true, () => false)))
  .then((loaded) => Array.from(document.images, (image, k) => loaded[k] ? "" : image.src).filter(Boolean))"""
#: Pixels by which the page is wider than the window.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: The colours of the page and of its body.
GROUND = "[document.documentElement, document.body].map((e) => getComputedStyle(e).backgroundColor).join()"
#: The titles that the search finds, once it has ended.
FOUND = """new Promise((found) => { const look = () => {
  const links = Array.from(document.querySelectorAll("#search-results li > a"), (link) => link.textContent);
  links.length ? found(links) : setTimeout(look, 50); }; look(); })"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the built site."""
    if not (SITE / "index.html").is_file():
        pytest.skip("needs the built site: make docs")
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A report of a benchmark and the page of a simulation."""
    folder = tmp_path_factory.mktemp("reports")
    suite, bench, runs = folder / "small.toml", folder / "bench.html", folder / "runs.html"
    suite.write_text('name = "small"\n[[case]]\nproblem = "quality"\npreset = "small"\nseeds = 2\n', encoding="utf-8")
    assert run(["bench", str(suite), "--solver", "dp", "--solver", "slaq", "--html", str(bench), "--json"]) == 0
    assert run(["simulate", "fifo", "srpt", "--trace", "sample:philly", "--limit", "30", "--table", str(runs)]) == 0
    return [bench, runs]


def check(tab: Browser, address: str) -> None:
    """Look at a page in both sizes and both themes."""
    tab.open(address)
    grounds = set()
    for size in SIZES:
        for theme in THEMES:
            tab.show(*size, theme)
            assert tab.value(OVERFLOW) <= 0, f"{address}: wider than {size[0]} pixels"
            grounds.add((theme, tab.value(GROUND)))
    assert len({colour for _, colour in grounds}) == len(THEMES), f"{address}: one ground in both themes"
    assert tab.value(BROKEN) == [], f"{address}: pictures do not load"
    assert tab.errors == [], address


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_site(tab: Browser, site: str, page: str) -> None:
    check(tab, f"{site}/{page}")


def test_reports_show_their_summary_on_the_first_screen(tab: Browser, reports: list[Path]) -> None:
    for report in reports:
        check(tab, report.as_uri())
        tab.show(*SIZES[1], "light")
        ends = tab.value('document.querySelector("table").getBoundingClientRect().bottom')
        assert ends <= SIZES[1][1], f"{report.name}: the summary ends at {ends} pixels"


@pytest.mark.parametrize("query", ["gang scheduling", "export latex", "slurm", "custom scheduler"])
def test_the_search_finds_pages(tab: Browser, site: str, query: str) -> None:
    tab.open(f"{site}/search.html?q={query.replace(' ', '+')}")
    assert tab.value(FOUND)
    assert tab.errors == []
