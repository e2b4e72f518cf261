"""The documentation site: Sphinx reads the Markdown pages as they are on a code host, and the docstrings of mlsched.

`make docs` builds it into build/site, without network; every warning is an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import hypothesis.strategies

import mlsched
from mlsched.api import fronts
from mlsched.benchmark import run_pictures
from mlsched.core import contract, formulation, scalar

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

# Names that these modules import for type checkers alone: signatures are shown with what they stand for.
contract.SearchStrategy = hypothesis.strategies.SearchStrategy
formulation.Limited, formulation.Assistant = scalar.Limited, scalar.Assistant
fronts.Front = mlsched.solvers.Front
run_pictures.Run = mlsched.Run

project = "mlsched"
author = copyright = "The mlsched developers"  # noqa: A001  # what Sphinx calls it
release = version = mlsched.__version__
html_title = f"mlsched {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "markdown_docstrings",
    "record_fields",
    "appendix",
    "constants",
    "contributors",
    "keywords",
    "linked_names",
    "mathml",
    "plain_types",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["extensions"]
templates_path: list[str] = []

# Markdown: headings are link targets as on a code host, $...$ is mathematics.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_allow_labels = False
# $ beside a digit is a price or a shell prompt, not mathematics.
myst_dmath_allow_digits = False

# The reference: objects in the order of the page, what they contain in the order of the source.
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
# Prompts and printed results are not copied with the command.
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp"
# A signature with a type that is imported for type checkers only (pandas) shows all its types as they are written.
# Every problem has a `Plan` and an `Instance`, so the link goes to the first of them.
suppress_warnings = ["ref.python"]
