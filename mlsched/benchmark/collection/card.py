"""Description of a collection for catalogues of data sets: a Croissant description, a card, and a table of the entries.

    entries.csv       one line per entry, for programs
    croissant.json    Croissant 1.0 (https://docs.mlcommons.org/croissant/): JSON-LD of schema.org and MLCommons
    README.md         the card, for people and for hubs of data sets

All three follow from the entries and from four details (`Details`), which croissant.json stores. Every change of an
entry rewrites them, and `verify` compares them.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import os
import re
from collections import Counter
from pathlib import Path

from mlsched.api.exact import trivial_bound
from mlsched.benchmark.collection.entry import MAX_NAME, Entry, check_line, entries, instance_path, read_description
from mlsched.benchmark.collection.table import escape_markdown
from mlsched.benchmark.formats import latex_text
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.files import atomic_write, read_json
from mlsched.core.foreign import csv_cell
from mlsched.core.safe_open import MOST_TEXT, read_text, shown_path

CROISSANT, CARD, TABLE = "croissant.json", "README.md", "entries.csv"
CONFORMS = "http://mlcommons.org/croissant/1.0"
#: Column of entries.csv -> its type in Croissant, and its meaning.
COLUMNS = {
    "problem": ("sc:Text", "Which scheduling question it is."),
    "instance": ("sc:Text", "SHA-256 of the instance."),
    "objective": ("sc:Text", "What a plan is valued by."),
    "sense": ("sc:Text", "min or max."),
    "unit": ("sc:Text", "Unit of the value."),
    "value": ("sc:Float", "Value of the best known plan, as the judge has it."),
    "compared_first": ("sc:Text", "What plans are compared by before the value; empty where it is nothing."),
    "compared_first_count": ("sc:Integer", "How much of that the best known plan has."),
    "lower": (
        "sc:Float",
        "No plan is below this (min); the best known plan (max). Exact, with what is compared first.",
    ),
    "upper": (
        "sc:Float",
        "The best known plan (min); no plan is above this (max). Exact, with what is compared first.",
    ),
    "proven": ("sc:Float", "The part of the bound that needs nobody's word: certified, or from the statement alone."),
    "evidence": (
        "sc:Text",
        "What the optimum rests on: certified, confirmed, unconfirmed; open where bound and value differ.",
    ),
    "by": ("sc:Text", "Who brought the last change."),
    "changes": ("sc:Integer", "Lines of history."),
    "instance_file": ("sc:Text", "The instance."),
    "entry_file": ("sc:Text", "Best plan, bound, history."),
}
#: JSON-LD context of Croissant 1.0.
_PREFIXED = re.findall(
    r"\w+",
    "citeAs column conformsTo equivalentProperty extract field fileProperty fileObject fileSet format includes "
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate "
    "separator source subField transform",
)
CONTEXT: Data = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: "dct:conformsTo" if name == "conformsTo" else f"cr:{name}" for name in _PREFIXED},
}
_URL = re.compile(r"https://[^\s<>\"'`\\]{1,400}")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


@dataclasses.dataclass(frozen=True)
class Details:
    """Details beyond the entries: address, creator, licence (SPDX) and version of the collection."""

    url: str
    creator: str = "The mlsched developers"
    license: str = "MIT"
    version: str = "1.0.0"

    def __post_init__(self) -> None:
        if not _URL.fullmatch(self.url):
            raise InvalidInput(f"url: {self.url!a}, expected an address that begins with https://")
        if not _VERSION.fullmatch(self.version):
            raise InvalidInput(f"version: {self.version!a}, expected three numbers, such as 1.0.0")
        if not re.fullmatch(r"[A-Za-z0-9.+-]{1,64}", self.license):
            raise InvalidInput(f"license: {self.license!a}, expected an SPDX identifier, such as MIT")
        check_line("creator", self.creator, MAX_NAME)


def write_card(folder: Path, details: Details) -> None:
    """Write the three files."""
    for name, text in card_files(folder, details).items():
        with atomic_write(os.fspath(folder / name)) as stream:
            stream.write(text)


def rewrite_card(folder: Path) -> None:
    """Write the three files again if the collection has them."""
    if (folder / CROISSANT).is_file():
        write_card(folder, read_details(folder))


def card_faults(folder: Path) -> list[str]:
    """Return the differences between the three files and the entries; empty without a card."""
    if not (folder / CROISSANT).is_file():
        return []
    remedy = f"`mlsched collection table {folder}` writes it"
    try:
        expected = card_files(folder, read_details(folder))
    except (InvalidInput, InvalidFile) as error:
        return [f"{shown_path(folder / CROISSANT)}: {error}"]
    return [
        f"{shown_path(folder / name)}: is not what the entries say; {remedy}"
        for name, text in expected.items()
        if not (folder / name).is_file() or read_text(folder / name, most=4 * MOST_TEXT) != text
    ]


def read_details(folder: Path) -> Details:
    """Return the details in croissant.json; raise InvalidInput for invalid ones."""
    data = read_json(folder / CROISSANT)
    creator = data.get("creator")
    name = creator.get("name") if isinstance(creator, dict) else None
    fields = {"url": data.get("url"), "license": data.get("license"), "version": data.get("version"), "creator": name}
    for key, value in fields.items():
        if not isinstance(value, str):
            raise InvalidInput(f"{key}: is missing; `mlsched collection card` writes the file")
    texts = {key: str(value) for key, value in fields.items()}
    return Details(**{**texts, "license": texts["license"].removeprefix("https://spdx.org/licenses/")})


def card_files(folder: Path, details: Details) -> dict[str, str]:
    """Return the texts of the three files by name."""
    description, entry_list = read_description(folder), list(entries(folder))
    table = _table(folder, entry_list)
    dates = sorted(str(line["date"]) for entry in entry_list for line in entry.history)
    published = dates[-1] if dates else "1970-01-01"
    croissant = _croissant(description, details, entry_list, table, published)
    return {
        TABLE: table,
        CROISSANT: json.dumps(croissant, indent=1, ensure_ascii=False) + "\n",
        CARD: _card(description, details, entry_list, published),
    }


def _table(folder: Path, entry_list: list[Entry]) -> str:
    output = io.StringIO()
    rows = csv.DictWriter(output, list(COLUMNS), lineterminator="\n")
    rows.writeheader()
    rows.writerows({name: csv_cell(value) for name, value in _row(folder, entry).items()} for entry in entry_list)
    return output.getvalue()


def _row(folder: Path, entry: Entry) -> Data:
    goal, rank = entry.objective, entry.instance.primary(entry.objective.name)
    count, base = (None, entry.value) if rank is None else rank.split(entry.value)
    two_sided = (entry.bound, entry.value) if goal.sense == "min" else (entry.value, entry.bound)
    proven = entry.bound if entry.evidence == "certified" else trivial_bound(entry.instance, goal.name)
    return {
        "problem": entry.instance.problem,
        "instance": entry.instance.hash,
        "objective": goal.name,
        "sense": goal.sense,
        "unit": goal.unit,
        "value": base,
        "compared_first": "" if rank is None else rank.name,
        "compared_first_count": count,
        "lower": two_sided[0],
        "upper": two_sided[1],
        "proven": proven,
        "evidence": entry.evidence or "open",
        "by": entry.history[-1]["by"],
        "changes": len(entry.history),
        "instance_file": instance_path(entry.path).relative_to(folder).as_posix(),
        "entry_file": entry.path.relative_to(folder).as_posix(),
    }


def cite_as(name: str, details: Details, published: str) -> str:
    """Return the BibTeX entry of the collection."""
    key = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "collection"
    fields = {
        "title": f"{{{latex_text(name)}: scheduling questions of machine-learning clusters, plans and bounds}}",
        "author": f"{{{latex_text(details.creator)}}}",
        "year": published[:4],
        "version": f"{{{details.version}}}",
        "url": f"{{{details.url}}}",
    }
    return f"@misc{{{key}, " + ", ".join(f"{field} = {value}" for field, value in fields.items()) + "}"


def _croissant(
    description: Data, details: Details, entry_list: list[Entry], table: str, published: str
) -> dict[str, object]:
    def column(name: str, kind: str, doc: str) -> Data:
        place = {"fileObject": {"@id": TABLE}, "extract": {"column": name}}
        return {
            "@type": "cr:Field",
            "@id": f"entries/{name}",
            "name": name,
            "description": doc,
            "dataType": kind,
            "source": place,
        }

    content = table.encode()
    problems = sorted({entry.instance.problem for entry in entry_list})
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": description["name"],
        "description": f"{description['doc']} {len(entry_list)} scheduling questions of machine-learning clusters, "
        "each with its best known plan, a bound on what is possible, and the history of both.".strip(),
        "conformsTo": CONFORMS,
        "citeAs": cite_as(description["name"], details, published),
        "license": f"https://spdx.org/licenses/{details.license}",
        "url": details.url,
        "version": details.version,
        "datePublished": published,
        "creator": {"@type": "Organization", "name": details.creator},
        "keywords": ["scheduling", "machine learning", "cluster", "optimization", "benchmark", *problems],
        "isLiveDataset": True,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": TABLE,
                "name": TABLE,
                "description": "A line for each entry.",
                "contentUrl": TABLE,
                "contentSize": f"{len(content)} B",
                "encodingFormat": "text/csv",
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "entries",
                "name": "entries",
                "description": "What is known of each question; plans and instances are in the files that it names.",
                "key": [{"@id": "entries/instance"}, {"@id": "entries/objective"}],
                "field": [column(name, kind, doc) for name, (kind, doc) in COLUMNS.items()],
            }
        ],
    }


def _card(description: Data, details: Details, entry_list: list[Entry], published: str) -> str:
    counts: Counter[tuple[str, str]] = Counter((e.instance.problem, e.evidence or "open") for e in entry_list)
    kinds = ("certified", "confirmed", "unconfirmed", "open")
    lines = [f"| {' | '.join(('problem', *kinds))} |", "|---|" + "---:|" * len(kinds)]
    for problem in sorted({problem for problem, _ in counts}):
        lines.append(f"| {' | '.join((problem, *(str(counts[problem, kind]) for kind in kinds)))} |")
    size = "n<1K" if len(entry_list) < 1000 else "1K<n<10K" if len(entry_list) < 10_000 else "n>10K"
    columns = [f"| `{name}` | {doc} |" for name, (_, doc) in COLUMNS.items()]
    return "\n".join(
        [
            "---",
            f"pretty_name: {json.dumps(description['name'], ensure_ascii=False)}",
            f"license: {details.license.lower()}",
            f"size_categories: [{json.dumps(size)}]",
            'tags: ["scheduling", "optimization", "benchmark", "machine-learning-clusters"]',
            "configs:",
            f"- {{config_name: entries, data_files: {TABLE}}}",
            "---",
            "",
            f"# {escape_markdown(description['name'])}",
            "",
            escape_markdown(description["doc"]),
            "",
            f"{len(entry_list)} scheduling questions of machine-learning clusters with their best known plans and "
            f"bounds, as of {published} (version {details.version}, {details.license}, "
            f"{escape_markdown(details.creator)}).",
            "",
            "## What is known",
            "",
            "Optima by what they rest on: a certificate that anyone can check, two engines that agree, one engine's "
            "word. In an open entry the bound does not meet the value of the best known plan.",
            "",
            *lines,
            "",
            "[TABLE.md](TABLE.md) has every entry.",
            "",
            "## How it was made, and what it is not",
            "",
            "The instances are drawn by mlsched's generators: they have the sizes and distributions of the papers "
            "whose questions they ask, and are no recordings of a cluster. They hold no data of persons. The plans are "
            "exact solvers' and whoever improved on them; nothing in an entry needs to be believed:",
            "",
            "```",
            "pip install mlsched",
            "mlsched collection verify .                     # every plan judged, every certificate checked",
            "mlsched collection verify . --recompute 60      # a search for every bound that somebody only claims",
            "```",
            "",
            "## Files",
            "",
            f"`PROBLEM/HASH.json` is an instance, `PROBLEM/HASH.OBJECTIVE.json` what is known of it, `.proof` its "
            f"certificate. `{TABLE}` has a line for each entry; `{CROISSANT}` describes it to programs:",
            "",
            "| column | says |",
            "|---|---|",
            *columns,
            "",
            "## Cite",
            "",
            "```",
            cite_as(description["name"], details, published),
            "```",
            "",
        ]
    )
