"""Every block of code in README, start and guides runs as it stands; those that cannot run here are listed as skipped.

A page is run from its first block to its last, in a folder of its own: Python blocks share names, a block whose first
line is a file's name (`# my_rules.py`) is that file, `mlsched ...` goes through the command line of this process.
What a line promises (`print(x)  # 3`) is compared with the output, and so is each line of a block of text after a block
that ran; `...` stands for lines left out. Outside the thorough profile the bounds of runs are looser than a reader's:
lines about bounds are compared in that profile only.
"""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documentation import RUN, Block, blocks, name_of
from draws import THOROUGH

from mlsched.cli.main import run

SHELLS = {"", "bash", "console", "sh"}
PROMISE = re.compile(r"print\(.*\)  # (.*)")
MARKED = [(page, block) for page in RUN for block in blocks(page) if block.mark in ("not run", "needs", "thorough")]


def _skipped(block: Block) -> str | None:
    """Why a block does not run here; None where it does."""
    if block.mark == "not run":
        return block.what
    if block.mark == "thorough" and not THOROUGH:
        return "in the thorough profile"
    if block.mark == "needs" and importlib.util.find_spec(block.what) is None:
        return f"needs {block.what}, which is not installed"
    return None


def _commands(text: str) -> list[list[str]]:
    """The command lines of a block; a line that ends in a backslash goes on, what follows # is a comment."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line.removeprefix("$ "), comments=True))]


def _run_shell(block: Block, place: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    for words in _commands(block.text):
        if words[0] == "mlsched":
            assert run(words[1:]) == 0, f"{place}: {shlex.join(words)}"
        elif words[0] == "mkdir":
            Path(words[1]).mkdir()
        elif words[0] == "python":
            subprocess.run([sys.executable, *words[1:]], check=True, timeout=300)
        else:
            pytest.fail(f"{place}: {words[0]} is not run in tests; mark the block: <!-- not run: REASON -->")
    captured = capsys.readouterr()
    return captured.out + captured.err


def _run_python(block: Block, place: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    exec(compile("\n" * block.line + block.text, place, "exec"), names)
    output = capsys.readouterr().out
    printed = iter(output.splitlines())
    for promised in PROMISE.findall(block.text):
        assert promised in printed, f"{place}: does not print {promised!r}, or not in this order"
    return output


def _compare(block: Block, place: str, output: str) -> None:
    """Compare a block of text with the output before it; line breaks and runs of blanks do not matter."""
    rest = " ".join(output.split())
    for line in filter(None, (" ".join(line.split()) for line in block.text.splitlines())):
        if line == "..." or (" bound " in f"{line} " and not THOROUGH):
            continue
        _, found, rest = rest.partition(line)
        assert found, f"{place}: does not print {line!r}, or not in this order"


@pytest.mark.usefixtures("bounds_to_show")
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    modules, names, output = set(sys.modules), {"__name__": "__main__"}, ""
    try:
        for block in blocks(page):
            place = f"{name_of(page)}:{block.line}"
            if _skipped(block) is not None:
                continue
            if block.file is not None:
                (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                output = _run_python(block, place, names, capsys)
            elif block.language in SHELLS:
                output = _run_shell(block, place, capsys)
            elif block.language == "text":
                _compare(block, place, output)
            else:
                assert block.language in ("toml", "{toctree}"), f"{place}: nothing runs {block.language}"
    finally:  # the page's own modules: another page may have one of the same name
        for module in set(sys.modules) - modules:
            if (file := getattr(sys.modules[module], "__file__", None)) and Path(file).is_relative_to(tmp_path):
                del sys.modules[module]


@pytest.mark.parametrize(("page", "block"), MARKED, ids=lambda x: name_of(x) if isinstance(x, Path) else str(x.line))
def test_blocks_that_run_elsewhere(page: Path, block: Block) -> None:
    """Nothing is run here: the list of skipped tests shows what is not, and why."""
    if (reason := _skipped(block)) is not None:
        pytest.skip(f"{name_of(page)}:{block.line}: {reason}")


def test_a_promise_that_is_not_kept_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    block = Block(1, "python", "print(1 + 1)  # 2\nprint('b')  # a\n", None, "")
    with pytest.raises(AssertionError, match="does not print 'a'"):
        _run_python(block, "page.md:1", {}, capsys)


def test_a_transcript_is_compared_with_the_output() -> None:
    output = "jobs   400\nmean_jct  213.1\ntotal_jct above its bound   1.0 %\n"
    _compare(Block(1, "text", "jobs  400\n...\nmean_jct 213.1\n", None, ""), "page.md:1", output)
    with pytest.raises(AssertionError, match=r"'mean_jct 213\.2'"):
        _compare(Block(1, "text", "jobs 400\nmean_jct 213.2\n", None, ""), "page.md:1", output)


def test_a_command_that_nothing_runs_must_be_marked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pytest.fail.Exception, match="mark the block"):
        _run_shell(Block(1, "bash", "make demo  # all\n", None, ""), "page.md:1", capsys)
