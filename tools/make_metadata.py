"""Write codemeta.json and .zenodo.json anew from pyproject.toml, CITATION.cff and the version.

    python tools/make_metadata.py

Catalogues of software read these two files; a test compares them with what this writes.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def cited() -> dict[str, str]:
    """The fields of CITATION.cff that are one line or one folded text."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    folded = re.sub(r">-\n((?: +\S.*\n)+)", lambda found: " ".join(found[1].split()) + "\n", text)
    return {key: value.strip().strip('"') for key, value in re.findall(r"^([\w-]+): *(\S.*)$", folded, re.MULTILINE)}


def files() -> dict[str, dict[str, Any]]:
    """Name -> content of the two files."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = cited()
    names = re.findall(r'^  - name: "(.*)"$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    codemeta = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "identifier": project["name"],
        "description": project["description"],
        "version": citation["version"],
        "dateModified": citation["date-released"],
        "license": f"https://spdx.org/licenses/{project['license']}",
        "author": [{"@type": "Organization", "name": name} for name in names],
        "programmingLanguage": {"@type": "ComputerLanguage", "name": "Python"},
        "runtimePlatform": f"Python {project['requires-python']}",
        "softwareRequirements": project["dependencies"],
        "keywords": project["keywords"],
        "developmentStatus": "active",
        "applicationCategory": "Operations research",
        "readme": project["readme"],
    }
    zenodo = {
        "title": citation["title"],
        "upload_type": "software",
        "description": citation["abstract"],
        "version": citation["version"],
        "publication_date": citation["date-released"],
        "creators": [{"name": name} for name in names],
        "license": project["license"],
        "access_right": "open",
        "language": "eng",
        "keywords": project["keywords"],
    }
    return {"codemeta.json": codemeta, ".zenodo.json": zenodo}


def text(content: dict[str, Any]) -> str:
    """A file's content as it is written."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, content in files().items():
        (ROOT / name).write_text(text(content), encoding="utf-8")
