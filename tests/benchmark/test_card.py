"""What describes a collection: valid Croissant, a table and a card that follow from the entries, and nothing else."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

import mlsched
from mlsched import InvalidInput
from mlsched.benchmark import collection
from mlsched.benchmark.collection import Details, add, create, entries, write_card, write_table
from mlsched.benchmark.collection.card import CARD, COLUMNS, CONFORMS, CROISSANT, TABLE
from mlsched.cli.main import run

DETAILS = Details("https://example.org/mlsched-bench")
#: What Croissant 1.0 and schema.org ask of a data set, and of the two kinds of object in it.
REQUIRED = [
    "@context",
    "@type",
    "name",
    "description",
    "conformsTo",
    "license",
    "url",
    "creator",
    "datePublished",
    "version",
    "distribution",
    "recordSet",
    "citeAs",
]
OF_FILE = ["@type", "@id", "name", "contentUrl", "encodingFormat", "sha256"]
OF_FIELD = ["@type", "@id", "name", "description", "dataType", "source"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A collection of a minimised objective with something compared first, and of a maximised one."""
    folder = tmp_path_factory.mktemp("collection") / "c"
    create(folder, "Tiny {bench} & co", "Two questions.")
    for problem, solver, seed in (("preemption", "cp-sat", 0), ("preemption", "fifo", 1), ("placement", "tetris", 2)):
        instance = mlsched.generate(problem, preset="small", seed=seed)
        add(folder, instance, mlsched.solve(instance, solver), "us")
    write_table(folder)
    write_card(folder, DETAILS)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "c")


def croissant(folder: Path):
    return json.loads((folder / CROISSANT).read_text())


def test_the_description_has_what_croissant_requires(folder):
    said = croissant(folder)
    assert not [name for name in REQUIRED if not said.get(name)]
    assert (said["@type"], said["conformsTo"], said["license"]) == (
        "sc:Dataset",
        CONFORMS,
        "https://spdx.org/licenses/MIT",
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said["datePublished"])
    # Every key that is not schema.org's own is one that the context explains.
    known = {
        *said["@context"],
        *["@context", "@type", "@id", "name", "description", "license", "url", "version", "creator", "keywords"],
    }
    known |= {*["datePublished", "distribution", "contentUrl", "contentSize", "encodingFormat", "sha256"]}
    assert _keys({k: v for k, v in said.items() if k != "@context"}) <= known
    (file,), (records,) = said["distribution"], said["recordSet"]
    assert not [name for name in OF_FILE if not file.get(name)]
    content = (folder / file["contentUrl"]).read_bytes()
    assert file["sha256"] == hashlib.sha256(content).hexdigest()
    assert file["contentSize"] == f"{len(content)} B"
    header = content.decode().splitlines()[0].split(",")
    assert [field["source"]["extract"]["column"] for field in records["field"]] == header == list(COLUMNS)
    for field in records["field"]:
        assert not [name for name in OF_FIELD if not field.get(name)]
        assert field["source"]["fileObject"] == {"@id": file["@id"]}
        assert field["@id"] == f"{records['@id']}/{field['name']}"
    ids = [item["@id"] for item in (file, records, *records["field"])]
    assert len(ids) == len(set(ids))
    assert {key["@id"] for key in records["key"]} <= set(ids)


def _keys(data):
    if isinstance(data, dict):
        return set(data) | {key for value in data.values() for key in _keys(value)}
    return {key for value in data for key in _keys(value)} if isinstance(data, list) else set()


@pytest.mark.filterwarnings("ignore")
def test_mlcroissant_reads_it(folder):
    reader = pytest.importorskip("mlcroissant")
    dataset = reader.Dataset(jsonld=str(folder / CROISSANT))
    assert not dataset.metadata.ctx.issues.errors
    assert len(list(dataset.records("entries"))) == 3


def test_the_table_says_what_the_entries_say(folder):
    with (folder / TABLE).open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 3
    for row, entry in zip(rows, entries(folder), strict=True):
        instance, name = entry.instance, entry.objective.name
        assert (row["instance"], row["objective"], row["problem"]) == (instance.hash, name, instance.problem)
        assert mlsched.load(folder / row["instance_file"]).hash == instance.hash
        assert (folder / row["entry_file"]) == entry.path
        best = {"min": "upper", "max": "lower"}[row["sense"]]
        assert float(row[best]) == instance.evaluate(entry.plan)[name]
        sides = [float(row[side]) for side in ("lower", "upper") if row[side]]
        assert sides == sorted(sides)
        rank = instance.primary(name)
        if rank is not None:
            assert float(row[best]) == int(row["compared_first_count"]) * rank.weight + float(row["value"])
            assert row["compared_first"] == "deferred TE jobs"
        else:
            assert float(row[best]) == float(row["value"])
    assert [(row["sense"], row["evidence"]) for row in rows] == [
        ("max", "open"),
        *(("min", entry.evidence or "open") for entry in entries(folder) if entry.instance.problem == "preemption"),
    ]


def test_the_card_counts_cites_and_shows_names_as_text(folder):
    text = (folder / CARD).read_text()
    front, body = text.split("---\n")[1:3]
    yaml = pytest.importorskip("yaml")
    said = yaml.safe_load(front)
    assert (said["pretty_name"], said["license"], said["size_categories"]) == ("Tiny {bench} & co", "mit", ["n<1K"])
    assert said["configs"] == [{"config_name": "entries", "data_files": TABLE}]
    assert "# Tiny \\{bench\\} \\& co" in body
    assert "| placement | 0 | 0 | 0 | 1 |" in body
    assert re.search(r"@misc\{tiny-bench-co, title = \{Tiny \\\{bench\\\} \\& co: .*version = \{1\.0\.0\}", body)


def test_whoever_changes_an_entry_writes_the_card_anew_and_verify_compares(folder, tmp_path, capsys):
    assert collection.verify(folder).wrong == ()
    instance = mlsched.generate("preemption", preset="small", seed=1)
    mlsched.save(instance, tmp_path / "i.json")
    mlsched.save(mlsched.solve(instance, "cp-sat").plan, tmp_path / "p.json")
    before = croissant(folder)
    call = [
        "collection",
        "submit",
        str(folder),
        str(tmp_path / "i.json"),
        str(tmp_path / "p.json"),
        "--by",
        "A. Nother",
    ]
    assert run(call) == 0
    assert collection.verify(folder).wrong == ()
    after = croissant(folder)
    assert after["distribution"][0]["sha256"] != before["distribution"][0]["sha256"]
    assert (after["url"], after["version"]) == (before["url"], before["version"])
    for name, old, new in (
        (TABLE, "A. Nother", "B. Other"),
        (CROISSANT, '"sha256": "', '"sha256": "0'),
        (CARD, "open", "closed"),
    ):
        kept = (folder / name).read_text()
        (folder / name).write_text(kept.replace(old, new))
        (fault,) = collection.verify(folder).wrong
        assert fault.startswith(f"{folder / name}: is not what the entries say; `mlsched collection table")
        (folder / name).write_text(kept)
    for name, old, new in (("url", "https://", "ftp://"), ("version", "1.0.0", "one"), ("license", "MIT", "M I T")):
        kept = (folder / CROISSANT).read_text()
        (folder / CROISSANT).write_text(re.sub(rf'("{name}": ".*?){re.escape(old)}', rf"\g<1>{new}", kept, count=1))
        (fault,) = collection.verify(folder).wrong
        assert f": {name}: " in fault
        (folder / CROISSANT).write_text(kept)
    (folder / CROISSANT).write_text("{}")
    (fault,) = collection.verify(folder).wrong
    assert "url: is missing; `mlsched collection card` writes the file" in fault


def test_details_that_cannot_be_are_refused(folder, capsys):
    for details in (
        {"url": "example.org"},
        {"url": "https://a b"},
        {"url": "http://example.org"},
        {"version": "1"},
        {"license": "a b"},
        {"creator": "\n"},
    ):
        with pytest.raises(InvalidInput, match=f"{next(iter(details))}: "):
            Details(**{"url": DETAILS.url, **details})
    assert run(["collection", "card", str(folder), "--url", "here"]) == 2
    assert "--url: 'here', expected an address" in capsys.readouterr().err
    assert run(["collection", "card", str(folder), "--url", DETAILS.url, "--version", "2.0.0"]) == 0
    assert croissant(folder)["version"] == "2.0.0"
    assert collection.verify(folder).wrong == ()
