"""What a release says of itself in several places is the same everywhere."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import mlsched

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Name on the Python package index -> name in conda-forge, where they differ.
CONDA = {"ortools": "ortools-python"}


def _recipe() -> dict[str, Any]:
    """release/meta.yaml with its variables filled in, as conda-build would."""
    yaml = pytest.importorskip("yaml")
    text = (ROOT / "release" / "meta.yaml").read_text(encoding="utf-8")
    values = dict(re.findall(r'^\{% set (\w+) = "(.*)" %\}$', text, re.MULTILINE)) | {"PYTHON": "python"}
    text = re.sub(r"^\{%.*%\}$", "", text, flags=re.MULTILINE)
    found = yaml.safe_load(re.sub(r"\{\{ (\w+) \}\}", lambda name: values[name[1]], text))
    assert isinstance(found, dict)
    return found


def _named(requirements: list[str]) -> dict[str, str]:
    """Name -> versions, without spaces."""
    parts = (re.fullmatch(r"([\w.-]+)\s*(.*)", requirement) for requirement in requirements)
    return {part[1]: part[2].replace(" ", "") for part in parts if part is not None}


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for() -> None:
    recipe = _recipe()
    wheel = {CONDA.get(name, name): versions for name, versions in _named(PROJECT["dependencies"]).items()}
    conda = _named(recipe["requirements"]["run"])
    assert conda == {"python": PROJECT["requires-python"]} | wheel
    assert recipe["package"] == {"name": PROJECT["name"], "version": mlsched.__version__}
    assert recipe["build"]["entry_points"] == [f"{name} = {entry}" for name, entry in PROJECT["scripts"].items()]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert _named(recipe["requirements"]["host"]).keys() == {"python", "pip", "hatchling"}


def test_the_citation_names_the_version() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: *[\"']?([^\"'\n]+)", cited, re.MULTILINE)[1] == mlsched.__version__  # type: ignore[index]
    assert f"## [{mlsched.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _metadata() -> Any:
    spec = importlib.util.spec_from_file_location("make_metadata", ROOT / "tools" / "make_metadata.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_catalogues_read_what_the_project_says_of_itself() -> None:
    made = _metadata()
    for name, content in made.files().items():
        assert (ROOT / name).read_text(encoding="utf-8") == made.text(content), "run python tools/make_metadata.py"
    codemeta, zenodo = made.files()["codemeta.json"], made.files()[".zenodo.json"]
    # The generator reads CITATION.cff by patterns: a reader of YAML finds the same.
    cited = pytest.importorskip("yaml").safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert zenodo["title"] == cited["title"]
    assert zenodo["description"] == cited["abstract"].strip()
    assert [creator["name"] for creator in zenodo["creators"]] == [author["name"] for author in cited["authors"]]
    assert zenodo["publication_date"] == codemeta["dateModified"] == str(cited["date-released"])
    assert zenodo["version"] == codemeta["version"] == cited["version"] == mlsched.__version__
    assert zenodo["license"] == cited["license"] == PROJECT["license"]
    assert zenodo["keywords"] == codemeta["keywords"] == cited["keywords"] == PROJECT["keywords"]
    assert [author["name"] for author in PROJECT["authors"]] == [author["name"] for author in cited["authors"]]
    assert codemeta["softwareRequirements"] == PROJECT["dependencies"]


def test_the_sdist_carries_what_describes_it() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    described = {
        "CITATION.cff",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "codemeta.json",
        ".zenodo.json",
        "paper.md",
        "paper.bib",
    }
    assert described <= set(config["sdist"]["include"])
    assert all((ROOT / name).exists() for name in config["sdist"]["include"])
    plugins = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "plugins").glob("mlsched_*"))
    assert config["wheel"]["packages"] == ["mlsched", *plugins], "the wheel holds core and plug-ins alone"


def test_the_recipes_commands_are_those_of_the_command_line() -> None:
    from mlsched.cli.main import _command

    known = set(_command("").commands) | {"--version"}
    assert {call.split()[1] for call in _recipe()["test"]["commands"]} <= known
