"""Hold the numbers of the documentation against recorded results.

    python tools/results.py record NAME -- mlsched ...  run a command that prints one JSON document; keep it
    python tools/results.py                             write the tables of all pages anew from what was recorded,
                                                        and the verdicts that a quick run of a paper shows

A recorded result (`docs/results/NAME.json`) is the command and the document that it printed, without its figures. The
command is `mlsched ...` or `python measurements/...`, run by the interpreter that runs this script. A page shows one of
the document's tables between the lines `<!-- table NAME.TABLE -->` and `<!-- end -->`, or, as `NAME.claims`, the
claims of a paper with their verdicts; `<!-- table NAME.TABLE | rows: A; B | columns: C; D -->` shows these rows and,
beside the labels, these columns alone. Between `<!-- verdicts -->` and `<!-- end -->` it has how many claims of each
paper came out how, after `<!-- scoreboard -->` the papers' headlines and claims by kind, after `<!-- papers -->` a
paragraph on each, after `<!-- power -->` how many claims would hold with other numbers of workloads. A sentence with
numbers is listed in `docs/sentences.toml` (page, source, text), its numbers as places in the document:

    text = "SLAQ cuts it by {claims[average-loss][measurements][0][measured][mean]:.0f} %"

An entry of a list is named by its position or by its `name` or `label`. A format may begin with a factor
(`{share:100*.0f}`), and `{value:sig3}` is a number with three significant digits. `tests/docs/test_numbers.py` fails
when a page says something else, does not name the command of a result that it uses, or, for the pages listed under
`complete`, has a percentage or an interval that no recorded result holds.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlsched_papers
from mlsched_papers import power, recorded, scoreboard
from mlsched_papers.claim import Claim

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Pages that stand beside the folder `docs`.
ABOVE = ("README.md", "paper.md")
BLOCK = re.compile(
    r"(?P<head><!-- table (?P<source>[\w-]+)\.(?P<table>[^>|]+?)"
    r"(?:\s\|\srows:\s(?P<rows>[^>|]+?))?(?:\s\|\scolumns:\s(?P<columns>[^>|]+?))? -->\n)(?P<body>.*?)<!-- end -->",
    re.DOTALL,
)
COUNTS = re.compile(r"<!-- (?P<kind>verdicts|scoreboard|papers|power) -->\n.*?<!-- end -->", re.DOTALL)
#: What counts as a measured number in a page that is complete: a percentage or an interval.
MEASURED = re.compile(r"\d[\d.,]*\s?%(?! (?:confidence )?intervals?)|\d[\d.,]*\s?±")


class Number(float):
    """A number of a document, with the formats of the module's docstring."""

    def __format__(self, spec: str) -> str:
        factor, star, rest = spec.partition("*")
        value, spec = (float(factor) * self, rest) if star else (float(self), spec)
        if spec.startswith("sig"):
            return f"{float(f'{value:.{int(spec[3:])}g}'):.15g}"
        return format(value, spec)


class Place:
    """A part of a document; entries of lists are found by position, `name` or `label`."""

    def __init__(self, data: Any, path: str) -> None:
        self.data, self.path = data, path

    def __getitem__(self, key: str | int) -> Any:
        return placed(self._entry(key), f"{self.path}[{key}]")

    def _entry(self, key: str | int) -> Any:
        if isinstance(self.data, dict):
            if str(key) in self.data:
                return self.data[str(key)]
        elif isinstance(self.data, list):
            if isinstance(key, int) and key < len(self.data):
                return self.data[key]
            for entry in self.data:
                if isinstance(entry, dict) and str(key) in (entry.get("name"), entry.get("label")):
                    return entry
                if isinstance(entry, list) and entry and entry[0] == str(key):
                    return entry
        raise SystemExit(f"{self.path} has no entry {key!r}")


def placed(data: Any, path: str) -> Any:
    """The part of a document as what a template's fields can name."""
    if isinstance(data, (dict, list)):
        return Place(data, path)
    return Number(data) if isinstance(data, (int, float)) and not isinstance(data, bool) else data


def result(source: str, docs: Path = DOCS) -> dict[str, Any]:
    """Return the recorded result `source`: its command and its document. `verdict-counts`: the counts of all papers."""
    if source == "verdict-counts":
        together = all_scores(docs)
        counts = {"claims": len(together.scheduler), "testbed": together.testbed, "if_right": together.if_right}
        counts |= {column: together.count(column) for column in scoreboard.COUNTED}
        return {"command": "mlsched reproduce", "document": {"together": counts}}
    path = docs / "results" / f"{source}.json"
    if not path.exists():
        raise SystemExit(f"{path} is missing; record it: python tools/results.py record {source} -- COMMAND...")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def record(name: str, command: list[str], docs: Path = DOCS) -> None:
    """Run `command` and keep the document that it prints."""
    programs = {"mlsched": [sys.executable, "-m", "mlsched"], "python": [sys.executable]}
    if command[0] not in programs:
        raise SystemExit(f"{command[0]}: give a command that begins with mlsched or python, as readers would type it")
    printed = subprocess.run([*programs[command[0]], *command[1:]], check=True, capture_output=True, text=True).stdout
    document = rounded(json.loads(printed))
    if isinstance(document, dict):
        document.pop("figures", None)
    kept = {"command": shlex.join(command), "document": document}
    (docs / "results").mkdir(exist_ok=True)
    (docs / "results" / f"{name}.json").write_text(
        json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def rounded(data: Any) -> Any:
    """The document with six significant digits, which is more than any page prints."""
    if isinstance(data, dict):
        return {key: rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.6g}") if isinstance(data, float) else data


def markdown(table: dict[str, Any]) -> str:
    """A table of a document (`header`; `rows`: lists of cells, or labels with their numbers), as a page shows it."""
    lines = [table["header"], ["---"] * len(table["header"]), *map(_cells, table["rows"])]
    return "".join("| " + " | ".join("" if c is None else str(c) for c in line) + " |\n" for line in lines)


def cell(number: dict[str, Any]) -> str:
    """A measured number with its interval, and the paper's in brackets."""
    measured, half, paper = (number.get(key) for key in ("measured", "ci95", "paper"))
    text = "" if measured is None else f"{Number(measured):sig3}"
    text += "" if not half else f" ± {Number(half):sig2}"
    least = "≥ " if number.get("lower_bound") else ""
    return text if paper is None else f"{text} ({least}{paper:g})".strip()


def of_claims(claims: list[dict[str, Any]]) -> dict[str, Any]:
    """A paper's claims as a table, each with the range of its evidence over the interpretations that count."""
    header = ["claim", "where", "the paper's number", "measured here", "verdict", "would hold if right"]
    return {"header": header, "rows": [_claim(claim) for claim in claims]}


def _claim(claim: dict[str, Any]) -> list[str]:
    printed = [_printed(piece) for piece in claim["measurements"] if piece["paper"] is not None]
    paper = " and ".join(dict.fromkeys(printed)) if len(set(printed)) <= 2 else ""
    chance = recorded.recorded_outcome(claim).percent
    return [claim["text"], claim["where"], paper, claim["summary"], claim["verdict"], chance]


def _printed(piece: dict[str, Any]) -> str:
    unit = f" {piece['unit']}" if piece["unit"] else ""
    return f"{'≥ ' if piece['lower_bound'] else ''}{Number(piece['paper']):sig3}{unit}"


def with_tables(page: str, docs: Path = DOCS) -> str:
    """The text of a page with its tables as they were recorded."""

    def block(found: re.Match[str]) -> str:
        source, table = found["source"], found["table"]
        document = result(source, docs)["document"]
        shown = of_claims(document["claims"]) if table == "claims" else Place(document, source)["tables"][table].data
        part = some(shown, _listed(found["rows"]), _listed(found["columns"]), f"{source}[{table}]")
        return f"{found['head']}{markdown(part)}<!-- end -->"

    page = BLOCK.sub(block, page)
    made: dict[str, Callable[[Path], str]] = {
        "verdicts": of_verdicts,
        "scoreboard": of_scoreboard,
        "papers": of_papers,
        "power": of_power,
    }
    return COUNTS.sub(lambda found: f"<!-- {found['kind']} -->\n{made[found['kind']](docs)}<!-- end -->", page)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in plain(text).split(";")]


def some(table: dict[str, Any], rows: list[str] | None, columns: list[str] | None, name: str) -> dict[str, Any]:
    """The table with these rows, by their labels, and these columns beside the labels; None: all of them."""
    header, by_label = table["header"], {_cells(row)[0]: _cells(row) for row in table["rows"]}
    for wanted, there in ((rows or [], by_label), (columns or [], header)):
        for one in wanted:
            if one not in there:
                raise SystemExit(f"{name} has no entry {one!r}")
    kept = [0, *(header.index(one) for one in columns)] if columns else range(len(header))
    shown = [by_label[label] for label in rows] if rows else [_cells(row) for row in table["rows"]]
    return {"header": [header[k] for k in kept], "rows": [[row[k] for k in kept] for row in shown]}


def _cells(row: Any) -> list[Any]:
    """The texts of a row: a list of cells, or a label with its numbers."""
    return list(row) if isinstance(row, list) else [row["label"], *map(cell, row["numbers"])]


def sentences(docs: Path = DOCS) -> dict[str, Any]:
    """What `sentences.toml` lists: `sentence`, and the pages under `complete`."""
    return tomllib.loads((docs / "sentences.toml").read_text(encoding="utf-8"))


def said(sentence: dict[str, str], docs: Path = DOCS) -> str:
    """A listed sentence with its numbers as recorded."""
    document = Place(result(sentence["source"], docs)["document"], sentence["source"])
    return sentence["text"].format_map(document) if isinstance(document.data, dict) else sentence["text"]


def pages(docs: Path = DOCS) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of ABOVE, every page of `docs` (`guides/gap.md`) and every note of `research/`."""
    for name in ABOVE:
        if (docs.parent / name).exists():
            yield name, (docs.parent / name).read_text(encoding="utf-8")
    for path in sorted(docs.rglob("*.md")):
        yield path.relative_to(docs).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((docs.parent / "research").rglob("*.md")):
        yield path.relative_to(docs.parent).as_posix(), path.read_text(encoding="utf-8")


def plain(text: str) -> str:
    """The text with every run of white space as one space, so that line breaks do not matter."""
    return " ".join(text.split())


def faults(docs: Path = DOCS) -> list[str]:
    """What the pages say that the recorded results do not; empty when they agree."""
    listed = sentences(docs)
    found = []
    for name, text in pages(docs):
        own = [s for s in listed.get("sentence", []) if s["page"] == name]
        if with_tables(text, docs) != text:
            found.append(f"{name}: a table is not as recorded; run python tools/results.py")
        for sentence in own:
            if plain(said(sentence, docs)) not in plain(text):
                found.append(f"{name}: recorded is, and the page does not say: {plain(said(sentence, docs))}")
        for source in sorted({s["source"] for s in own} | {m["source"] for m in BLOCK.finditer(text)}):
            if result(source, docs)["command"] not in plain(text):
                found.append(f"{name} does not name the command behind {source}: {result(source, docs)['command']}")
        if name in listed.get("complete", []):
            found += [f"{name}: no recorded result holds {number!r}" for number in uncovered(text, own, docs)]
    return found


def uncovered(text: str, own: list[dict[str, str]], docs: Path = DOCS) -> list[str]:
    """Return percentages and intervals outside tables, listed sentences, code and quotations.

    A number that a block of code prints is covered: tests run the block.
    """
    rest = COUNTS.sub(" ", BLOCK.sub(" ", text))
    printed = " ".join(re.findall(r"```.*?```", rest, flags=re.DOTALL))
    rest = plain(re.sub(r"```.*?```|`[^`]*`|\"[^\"]*\"", " ", rest, flags=re.DOTALL))
    for sentence in own:
        rest = rest.replace(plain(re.sub(r"`[^`]*`|\"[^\"]*\"", " ", said(sentence, docs))), " ")
    found = [m for m in MEASURED.finditer(rest) if m[0] not in printed]
    return [rest[max(0, m.start() - 30) : m.end() + 10] for m in found]


#: Experiment -> the recorded results that its claims' verdicts are from; a later one says what an earlier could not.
EXPERIMENTS = {
    "fitgpp": ("fitgpp",),
    "slaq": ("slaq",),
    "harmony": ("placement-online", "harmony-rack", "harmony-training"),
    "chic": ("chic",),
    "mlfs": ("mlfs",),
    "gavel": ("gavel",),
    "shockwave": ("shockwave",),
    "findings": ("findings",),
}
RECORDED = DOCS.parent / "plugins" / "mlsched_papers" / "recorded.json"


def claims(experiment: str, docs: Path = DOCS) -> list[dict[str, Any]]:
    """The claims of an experiment, each from the first of its recorded results that measured it."""
    found: dict[str, dict[str, Any]] = {}
    for claim in (claim for source in EXPERIMENTS[experiment] for claim in result(source, docs)["document"]["claims"]):
        if claim["name"] not in found or found[claim["name"]]["verdict"] == "not measured":
            found[claim["name"]] = claim
    return list(found.values())


@functools.cache
def outcomes(experiment: str, docs: Path = DOCS) -> dict[str, scoreboard.Outcome]:
    """The outcome of each claim of an experiment by its name."""
    return {c["name"]: recorded.recorded_outcome(c) for c in claims(experiment, docs)}


@functools.cache
def scores(docs: Path = DOCS) -> dict[str, scoreboard.Score]:
    """The score of each paper by its experiment; claims that are ours are not counted."""
    return {name: scoreboard.score(_kinds(name, docs), outcomes(name, docs)) for name in papers()}


def _kinds(experiment: str, docs: Path) -> list[Claim]:
    """The claims of an experiment, each of the kind that its statement has."""
    kinds = {statement.name: statement.kind for statement in mlsched_papers.EXPERIMENTS[experiment].statements}
    found = [recorded.claim_from_json(claim) for claim in claims(experiment, docs)]
    return [dataclasses.replace(claim, kind=kinds.get(claim.name) or claim.kind) for claim in found]


def all_scores(docs: Path = DOCS) -> scoreboard.Score:
    """The score of all papers together."""
    return scoreboard.Score(tuple(one for each in scores(docs).values() for one in each.outcomes))


def papers() -> dict[str, scoreboard.Paper]:
    """The papers by their experiments, in the order of EXPERIMENTS."""
    found = {name: mlsched_papers.EXPERIMENTS[name].paper for name in EXPERIMENTS}
    return {name: paper for name, paper in found.items() if paper is not None}


def of_verdicts(docs: Path = DOCS) -> str:
    """How many claims of each paper came out how, as a table."""
    rows = [scoreboard.verdict_row(papers()[name].name, score) for name, score in scores(docs).items()]
    return markdown(
        {"header": scoreboard.VERDICT_HEADER, "rows": [*rows, scoreboard.verdict_row("together", all_scores(docs))]}
    )


def of_scoreboard(docs: Path = DOCS) -> str:
    """The verdict on each paper's headline and its claims by kind, as a table."""
    rows = []
    for name, score in scores(docs).items():
        paper = papers()[name]
        rows.append(scoreboard.scoreboard_row(paper.name, _headline(name, docs)[1], score))
    return markdown({"header": scoreboard.SCOREBOARD_HEADER, "rows": rows})


def _headline(experiment: str, docs: Path) -> tuple[str, str]:
    """The words of a paper's headline and its verdict; "not measured" until it is recorded."""
    name = papers()[experiment].headline
    text = next(one.text for one in mlsched_papers.EXPERIMENTS[experiment].statements if one.name == name)
    return text, outcomes(experiment, docs).get(name, scoreboard.Outcome("not measured")).verdict


@functools.cache
def of_power(docs: Path = DOCS) -> str:
    """How many claims of each paper would hold if it were right, by number of workloads and shared variance."""
    ways: list[dict[str, Any]] = [{}, {"workloads": 30}, {"workloads": 100}, {"shared": 0.0}, {"shared": 1.0}]
    rows = []
    for name, paper in papers().items():
        own = [c for c in _kinds(name, docs) if c.where != scoreboard.OURS and c.kind in scoreboard.KINDS]
        chances = [[power.chance_to_hold(claim, **way) for claim in own] for way in ways]
        known = [[chance for chance in each if chance is not None] for each in chances]
        rows.append([paper.name, len(known[0]), *(f"{sum(each):.1f}" for each in known)])
    header = ["paper", "claims with intervals", "as measured", "30 workloads", "100 workloads"]
    return markdown({"header": [*header, "independent pieces", "identical pieces"], "rows": rows})


def of_papers(docs: Path = DOCS) -> str:
    """A paragraph on each paper."""
    parts = []
    for name, paper in papers().items():
        text, verdict = _headline(name, docs)
        short, _, venue = paper.name.partition(" ")
        words = (
            f"**[{short}]({name}.md)** {venue}: {paper.question}. *Headline:* {text[0].upper()}"
            f"{text[1:]}: **`{verdict}`**. *Why claims fail:* {paper.why} *Condition:* {paper.condition}"
        )
        parts.append("\n".join(textwrap.wrap(words, 120, break_long_words=False, break_on_hyphens=False)))
    return "\n\n".join(parts) + "\n"


def verdicts() -> str:
    """The content of `plugins/mlsched_papers/recorded.json`: experiment -> claim -> verdict and chance, as recorded."""
    found = {
        experiment: {name: [one.verdict, one.chance] for name, one in outcomes(experiment).items()}
        for experiment in EXPERIMENTS
    }
    return json.dumps(found, indent=1) + "\n"


def main(arguments: list[str]) -> None:
    """See the module's docstring."""
    if arguments[:1] == ["record"] and arguments[2:3] == ["--"] and arguments[3:]:
        record(arguments[1], arguments[3:])
    elif arguments:
        raise SystemExit(__doc__)
    for name, text in pages():
        path = DOCS.parent / name if name in ABOVE or name.startswith("research/") else DOCS / name
        path.write_text(with_tables(text), encoding="utf-8")
    RECORDED.write_text(verdicts(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
