"""The site's search finds the right page first: each of these queries is a keyword of one page alone.

Sphinx gives a main index entry that equals the query 100 points, and at most 15 for each word of another hit. So a page
is first for its keywords. The thorough profile builds the site and asks its own search.
"""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documentation import DOCS, ROOT
from draws import THOROUGH

KEYWORDS = runpy.run_path(str(DOCS / "extensions" / "keywords.py"))
#: Query -> the page that answers it.
QUERIES = {
    "gang scheduling": "guides/assumptions",
    "slurm": "guides/judge",
    "why is my job pending": "guides/judge",
    "gpu types": "guides/types",
    "deadline": "problems/taskgraph",
    "export LaTeX": "guides/tables",
    "pareto": "guides/front",
    "install": "learn/start",
    "custom scheduler": "guides/add-solver",
    "certificate": "guides/certify",
    "heterogeneous": "guides/types",
    "quickstart": "learn/start",
    "fair share": "guides/replay",
    "MIG": "guides/formats",
    "topology": "problems/admission",
    "kueue": "guides/judge",
    "gantt": "guides/dag",
    "gap": "guides/gap",
    "benchmark": "guides/benchmark",
    "reproduce": "guides/paper",
}


def pages_of(query: str) -> list[str]:
    """Return the pages that have the query as a keyword."""
    return [
        page.relative_to(DOCS).with_suffix("").as_posix()
        for page in sorted(DOCS.rglob("*.md"))
        if query.lower() in map(str.lower, KEYWORDS["keywords_of"](page.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_the_keyword_of_one_page(query: str) -> None:
    assert pages_of(query) == [QUERIES[query]]


def test_no_two_pages_share_a_keyword() -> None:
    words = [
        word.lower()
        for page in DOCS.rglob("*.md")
        for word in KEYWORDS["keywords_of"](page.read_text(encoding="utf-8"))
    ]
    assert sorted(words) == sorted(set(words))


def test_keywords_become_main_entries_of_the_index() -> None:
    page = "# Title\n\n<!-- keywords: gang scheduling,\nMIG -->\n\nText.\n"
    assert KEYWORDS["keywords_of"](page) == ["gang scheduling", "MIG"]
    assert KEYWORDS["with_index"](page) == "# Title\n\n```{index} ! gang scheduling, ! MIG\n```\n\nText.\n"
    assert KEYWORDS["with_index"]("# Title\n") == "# Title\n"


#: Runs the site's own search in Node.js: reads queries, prints the first page of each.
SEARCH = """
const fs = require("fs"), vm = require("vm"), [site, queries] = process.argv.slice(2);
const stub = { addEventListener() {}, getElementById: () => null, documentElement: { dataset: {} } };
const context = vm.createContext({ document: stub, console, localStorage: { setItem() {} },
  _: (text) => text, _ready: () => {}, Documentation: {}, SPHINX_HIGHLIGHT_ENABLED: false,
  DOCUMENTATION_OPTIONS: {}, navigator: {} });
context.window = context;
const read = (name) => vm.runInContext(fs.readFileSync(`${site}/${name}`, "utf8"), context);
read("_static/language_data.js");
read("_static/searchtools.js");
context.first = JSON.parse(queries);
read("searchindex.js");
console.log(vm.runInContext(
  "JSON.stringify(first.map((q) => Search._performSearch(...Search._parseQuery(q)).pop()?.[0] ?? null))", context));
"""


@pytest.mark.skipif(not THOROUGH, reason="builds the site: in the thorough profile")
def test_the_search_of_the_built_site_finds_the_page_first(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs Node.js, which runs the site's search")
    site = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "sphinx", "--quiet", str(ROOT / "docs"), str(site)], check=True)
    (tmp_path / "search.js").write_text(SEARCH, encoding="utf-8")
    command = ["node", str(tmp_path / "search.js"), str(site), json.dumps(list(QUERIES))]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert dict(zip(QUERIES, found, strict=True)) == QUERIES
