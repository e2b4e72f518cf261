"""Help texts: "Verb the noun.", with an example value and the default; commands in groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from prose import VERBS, WEAK, Prose
from typer.main import get_command

from mlsched.cli import groups
from mlsched.cli.main import complete_app

#: First words of help texts: imperatives, also those that only commands need.
IMPERATIVES = VERBS | {"certify", "install", "maintain", "reproduce", "submit"}
#: Most characters of a help text: three lines of a narrow terminal.
LONGEST = 170


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, those of groups included."""

    def below(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        yield name, command
        for key, inside in getattr(command, "commands", {}).items():
            yield from below(inside, f"{name} {key}")

    return below(get_command(complete_app()), "mlsched")


def options() -> Iterator[tuple[str, Any]]:
    """Yield every option and argument of ours with its place, such as "solve --seed"."""
    for name, command in commands():
        for option in command.params:
            if option.name not in ("help", "install_completion", "show_completion"):
                yield f"{name} {option.opts[-1]}", option


ALL = dict(options())


def test_every_command_says_in_a_line_with_a_verb_what_it_does() -> None:
    wrong = []
    for name, command in commands():
        first = command.help.split("\n\n")[0]
        if first.split()[0].lower() not in IMPERATIVES or not first.endswith((".", "?")) or len(first) > 110:
            wrong.append(f"{name}: {first}")
    assert not wrong


@pytest.mark.parametrize("place", ALL)
def test_an_option_has_a_verb_an_example_and_a_default(place: str) -> None:
    option = ALL[place]
    text = option.help
    assert text.split()[0].lower() in IMPERATIVES
    assert text.endswith(".")
    assert len(text) <= LONGEST
    if not getattr(option, "is_flag", False):
        assert "e.g. " in text
        shown = option.required or option.default not in (None, ())
        assert shown or "Default: " in text


def test_every_command_is_in_a_group() -> None:
    app = complete_app()
    found = [entry.rich_help_panel for entry in (*app.registered_commands, *app.registered_groups)]
    assert set(found) == set(groups.ORDER) - {groups.OTHERS}


def test_a_command_of_another_distribution_is_in_the_group_of_plugins() -> None:
    assert groups.group_of(print) == groups.OTHERS
    assert groups.group_of(groups.in_group(groups.PAPERS)(lambda: None)) == groups.PAPERS


def test_help_texts_keep_the_rules_of_prose() -> None:
    texts = [command.help for _, command in commands()] + [option.help for option in ALL.values()]
    prose = Prose()
    for text in texts:
        prose.read(text, "help")
    assert not prose.errors
    often = {"one, those", "no, none, nothing"}  # "Default: none", "one row per job"
    over = {rule: prose.rate(rule) for rule, (_, most) in WEAK.items() if prose.rate(rule) > most and rule not in often}
    assert not over
    assert prose.relatives <= 0.02 * prose.sentences
