"""Subjects of commits: 72 characters, a type, an imperative, no semicolon; pre-commit checks them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("commit_message", ROOT / "tools" / "commit_message.py")
assert SPEC is not None
assert SPEC.loader is not None
check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check)


@pytest.mark.parametrize(
    "subject",
    [
        "fix(cli): report a missing file",
        "feat(rounds)!: process rounds of one minute",
        "docs: seed the changelog",
        "test(api, cli): share an instance",
        "Merge branch 'main'",
        "fixup! fix(cli): reported; twice",
        "perf: " + "cut " + "x" * 62,
    ],
)
def test_a_good_subject_has_no_fault(subject: str) -> None:
    assert check.faults(subject) == []


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("fix: cut " + "x" * 64, "73 characters, expected at most 72"),
        ("fix(cli): report a file; read it", "a semicolon"),
        ("Report a missing file", "expected type(scope): summary"),
        ("fix:", "expected type(scope): summary"),
        ("", "expected type(scope): summary"),
        ("fix(cli): reported a missing file", "'reported', expected an imperative"),
        ("fix(cli): reports a missing file", "'reports', expected an imperative"),
        ("fix(cli): reporting a missing file", "'reporting', expected an imperative"),
    ],
)
def test_a_fault_names_value_and_rule(subject: str, fault: str) -> None:
    assert [fault in found for found in check.faults(subject)] == [True]


def test_the_file_of_a_message_is_read_without_comments(tmp_path, capsys) -> None:
    message = tmp_path / "message"
    message.write_text("# a comment\n\nfix(cli): report a missing file\n\nBody; with a semicolon.\n", encoding="utf-8")
    assert check.main(str(message)) == 0
    message.write_text("wip\n", encoding="utf-8")
    assert check.main(str(message)) == 1
    assert (
        capsys.readouterr().err == "subject: expected type(scope): summary, such as fix(cli): report a missing file\n"
    )


def test_pre_commit_runs_the_check_at_its_stage() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert "default_install_hook_types: [pre-commit, commit-msg]" in hooks
    entry = hooks.index("entry: .venv/bin/python tools/commit_message.py")
    assert "stages: [commit-msg]" in hooks[entry:]
