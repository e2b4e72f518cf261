"""Measure the English of docstrings and comments: forbidden phrases, rates of weak words, names.

`python tests/prose.py PATH...` prints each hit of a forbidden phrase and the rates of some files or folders.
`python tests/prose.py --write` writes the counts of all packages to `prose_counts.txt`.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNTS = Path(__file__).with_name("prose_counts.txt")
WORDS = Path(__file__).with_name("prose_words.txt")

#: Files that are left out of folders. Certificates contain the text of the checkers, and `RELEASED` in
#: `mlsched/certificates/received.py` has the hashes of these texts: another word would be another checker. `limits.py`
#: and the rest of `prices/`, which run the same code inside mlsched, change only together with the checkers.
CHECKERS = frozenset(
    ROOT / "mlsched" / "certificates" / name
    for name in (
        "checker.py",
        "limits.py",
        "placement/prices.py",
        "preemption/prices.py",
        "prices",
        "quality/prices.py",
        "taskgraph/prices.py",
        "workers/prices.py",
    )
)
#: Forbidden phrases: rule -> pattern.
FORBIDDEN = {
    "'that is none', 'that there is': name the noun": r"\b(?:that|which|what) (?:is|are) (?:none|one)\b"
    r"|\b(?:is|are) none\b|\bthat there (?:is|are)\b",
    "'is no X': write 'is not an X'": r"\b(?:is|are|was|were) no"
    r" (?!longer\b|more\b|less\b|better\b|worse\b|way\b|need\b)\w+",
    "'so many': name the number": r"\b(?:at most|at least|only the first|of|for|in|on)"
    r" so (?:many|much|long|far|bad|large)\b|\b(?:is|are) (?:at most )?so (?:bad|far)\b",
    "'a row a point': write 'per'": r"\b(?:a|one) (?:row|line|column|folder|file|block|process|panel|task|test|option"
    r"|piece) an? [a-z]+\b",
    "archaic adverb": r"\b(?:anew|likewise|of itself|for ever|as ever|to and fro|hardly|scarcely|whereof|thereof"
    r"|lest)\b",
    "'is said', 'says so': programs do not speak": r"\b(?:is|are|was|were) said(?! to)\b"
    r"|\bsays (?:so|nothing|of)\b",
    "'is worth', 'believed'": r"\bis worth\b(?! (?:its|the|a)\b)|\bword (?:is|of)\b|\bbelieves?\b|\bbelieved\b",
    "'what comes out': name the result": r"\bwhat (?:comes|came|becomes|became|is made) (?:out |of)"
    r"|\bcomes? out\b",
    "'goes on': continue": r"\b(?:goes|go|went|gone|going) on\b",
    "'held against': compare": r"\b(?:hold|holds|held) \w* ?(?:\w+ )?against\b",
    "'gives way', 'let go'": r"\b(?:gives?|gave|given|giving) way\b|\bto go for\b|\bputs? down\b",
}
#: Weak words: pattern, and the most hits per 10,000 words in a finished package.
WEAK = {
    "what": (r"\bwhat\b", 12),
    "say, tell": (r"\b(?:says?|said|tells?|told)\b", 6),
    "ask": (r"\b(?:asks?|asked|asking)\b", 6),
    "one that, those": (
        r"\b(?:ones|those|that of|one (?:that|which|is|may|can|with)|(?:the|that|this|which|other|each) one)\b",
        34,
    ),
    "no, none, nothing": (r"\b(?:nothing|nobody|none|no)\b", 24),
    "where": (r"\bwhere\b", 38),
    "whole, alone": (r"\b(?:whole|alone)\b", 6),
    "hold, stand, lie": (r"\b(?:holds?|stands?|stood|lies|lying)\b", 6),
}
#: Compiled for texts in lower case.
_WEAK = {rule: re.compile(pattern) for rule, (pattern, _) in WEAK.items()}
_ANY_FORBIDDEN = re.compile("|".join(FORBIDDEN.values()))
RELATIVE = re.compile(r"\b(?:that|which|who|whom|whose|what|where|whatever|whoever)\b")
_PARTICIPLES, _VERBS = (block.partition("\n")[2].split() for block in WORDS.read_text(encoding="utf-8").split("\n\n"))
#: Participles that name nothing if they are the name of a variable or function, and verbs that open a docstring.
BARE, VERBS = frozenset(_PARTICIPLES), frozenset(_VERBS)


@dataclass
class Prose:
    """Counts over some files: words, hits of each rule, names and docstrings."""

    words: int = 0
    sentences: int = 0
    relatives: int = 0
    long: int = 0
    weak: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    docstrings: int = 0
    imperative: int = 0
    names: int = 0
    participles: Counter[str] = field(default_factory=Counter)
    functions: int = 0
    characters: int = 0
    lines: int = 0
    any_types: int = 0

    def read(self, text: str, place: str = "") -> None:
        """Count the sentences of a text; `place` begins the lines about errors."""
        for sentence, words in sentences(text):
            self.words += len(words)
            self.sentences += 1
            self.long += len(words) > 30
            lower = sentence.replace("None", "CODE").lower()
            self.relatives += len(RELATIVE.findall(lower)) >= 2
            self.weak.update(rule for rule, pattern in _WEAK.items() for _ in pattern.finditer(lower))
            if _ANY_FORBIDDEN.search(lower):
                rules = (rule for rule, pattern in FORBIDDEN.items() if re.search(pattern, lower))
                self.errors += [f"{place}: {rule}: {sentence[:150]}" for rule in rules]

    def read_python(self, path: Path) -> None:
        """Count the docstrings, comments and names of a Python file."""
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        place = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
        for node in ast.walk(tree):
            self._read_names(node)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                self.read(without_examples(text), place)
                if text and not isinstance(node, ast.Module | ast.ClassDef):
                    self.docstrings += 1
                    self.imperative += (re.findall(r"[a-z]+", text.lower()) or [""])[0] in VERBS
        for comment in comments(source):
            self.read(comment, place)
        self.lines += source.count("\n")
        self.any_types += len(re.findall(r"\bAny\b", source))

    def read_markdown(self, path: Path) -> None:
        """Count the sentences of a Markdown page."""
        place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
        self.read(running_text(path.read_text(encoding="utf-8")), place)

    def _read_names(self, node: ast.AST) -> None:
        names = []
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names = [node.id]
        self.names += len(names)
        self.participles.update(name for name in names if name.strip("_") in BARE)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.functions += 1
            self.characters += len(node.name.strip("_"))

    def rate(self, rule: str) -> float:
        """Return the hits of a weak word per 10,000 words."""
        return 1e4 * self.weak[rule] / max(1, self.words)

    def shares(self) -> dict[str, float]:
        """Return the measures of a finished package, in per cent, characters, or per 1,000 lines."""
        return {
            "sentences with two relative clauses, %": 100 * self.relatives / max(1, self.sentences),
            "sentences over 30 words, %": 100 * self.long / max(1, self.sentences),
            "docstrings of functions that open with a verb, %": 100 * self.imperative / max(1, self.docstrings),
            "names that are bare participles, %": 100 * self.participles.total() / max(1, self.names),
            "mean name of a function, characters": self.characters / max(1, self.functions),
            "Any per 1,000 lines": 1e3 * self.any_types / max(1, self.lines),
        }

    def counts(self) -> dict[str, int]:
        """Return the counts that may only fall."""
        weak = sum(self.weak[rule] for rule in ("what", "say, tell", "ask", "whole, alone", "hold, stand, lie"))
        return {"errors": len(self.errors), "weak": weak, "relatives": self.relatives, "any": self.any_types}


def sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences of a text with their words; code in backticks counts as one word."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)]|\w+:)\s)", text):
        block = re.sub(r"\s+", " ", re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", block.strip()))
        block = re.sub(r"``?[^`]+``?", "CODE", re.sub(r"\$[^$]+\$", "X", block)).replace("*", "")
        block = re.sub(r"\b(e\.g|i\.e|etc|cf|vs|et al|Fig|Eqs?|Sec)\.", lambda m: m.group(0).replace(".", ""), block)
        block = re.sub(r"(\d)\.(\d)", r"\1·\2", block)
        for sentence in re.split(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"(\[])", block):
            words = re.findall(r"[A-Za-z][A-Za-z'’\-]*|\d[\d,·%]*", sentence)
            if len(words) >= 3 and re.search(r"[a-z]{2}", sentence):
                yield sentence, words


def without_examples(text: str) -> str:
    """Return a docstring without its interactive examples and indented code."""
    return re.sub(r"^\s*(?:>>>|\.\.\. ).*(?:\n\s*\S.*)*", "", text, flags=re.MULTILINE)


def documented_parameters(docstring: str) -> set[str]:
    """Return the names in the section `Args` of a docstring."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", docstring, re.MULTILINE)
    lines = re.findall(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*):", section[1] if section else "", re.MULTILINE)
    return {name.strip("* ") for line in lines for name in line.split(",")}


def running_text(page: str) -> str:
    """Return a Markdown page without front matter, comments, code, formulas, tables, headings and pictures."""
    for pattern in (
        r"\A---\n.*?\n---\n",
        r"<!--.*?-->",
        r"^[ \t]*(```|~~~|:::).*?^[ \t]*\1[ \t]*$",
        r"\$\$.*?\$\$",
        r"^\s*\|[^\n]*$",
        r"^#+ [^\n]*$",
        r"!\[[^\]]*\]\([^)]*\)",
    ):
        page = re.sub(pattern, "\n\n", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<[^>]+>", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page))


def comments(source: str) -> Iterator[str]:
    """Yield the comments of a source text; comments on consecutive lines are one text."""
    block: list[str] = []
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"#!|# (?:noqa|type:|fmt:|pragma)", token.string):
            continue
        follows = token.start[0] == last + 1 and token.line.lstrip().startswith("#")
        if block and not follows:
            yield "\n".join(block)
            block = []
        block.append(token.string.lstrip("#: "))
        last = token.start[0]
    if block:
        yield "\n".join(block)


def python_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder except the `CHECKERS`."""
    files = sorted(folder.resolve().rglob("*.py"))
    return [file for file in files if not {file, *file.parents} & CHECKERS]


def prose_of(paths: Iterable[Path]) -> Prose:
    """Measure Python files, Markdown pages and all Python files below folders except the `CHECKERS`."""
    prose = Prose()
    for path in paths:
        for file in [path] if path.is_file() else python_files(path):
            if file.suffix == ".md":
                prose.read_markdown(file)
            else:
                prose.read_python(file)
    return prose


def packages() -> list[str]:
    """Return the packages that are measured, as paths from the root of the repository."""
    folders = [*(ROOT / "mlsched").iterdir(), *(ROOT / "plugins").iterdir()]
    return sorted(str(folder.relative_to(ROOT)) for folder in folders if any(folder.glob("*.py")))


def allowed_counts() -> dict[str, dict[str, int]]:
    """Read `prose_counts.txt`: package -> rule -> number of hits that it may have."""
    header, *rows = (line.split() for line in COUNTS.read_text(encoding="utf-8").splitlines())
    return {package: dict(zip(header[1:], map(int, counts), strict=True)) for package, *counts in rows}


def write_counts() -> None:
    """Write `prose_counts.txt` from the packages as they are."""
    measured = {name: prose_of([ROOT / name]).counts() for name in packages()}
    rows = [" ".join(["package", *Prose().counts()])]
    rows += [" ".join([name, *map(str, counts.values())]) for name, counts in measured.items()]
    COUNTS.write_text("\n".join(rows) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Print the measures of paths, or write the counts."""
    if arguments == ["--write"]:
        write_counts()
        return
    prose = prose_of(map(Path, arguments))
    lines = [*prose.errors]
    lines += [f"{rule}: {prose.rate(rule):.0f} per 10,000 words (at most {most})" for rule, (_, most) in WEAK.items()]
    lines += [f"{name}: {share:.1f}" for name, share in prose.shares().items()]
    lines += [f"{prose.words} words, {prose.functions} functions, participles: {prose.participles.most_common(8)}"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
