"""A front resumes from its file after anything short of someone editing it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import front_data
import pytest
from draws import draws

from mlsched.core.errors import InvalidFile
from mlsched.solvers import enumerate_front
from mlsched.solvers.front.journal import Journal

HEADER = ("fingerprint", "method", "stages")
QUESTION = front_data.knapsack(14, 3, seed=1)

CHILD = """
import sys
sys.path[:0] = {paths!r}
import front_data
from mlsched.solvers import enumerate_front
def step(points, solves):
    print(solves, flush=True)
    sys.stdin.readline()
question = front_data.knapsack(14, 3, seed=1)
step(0, 0)
enumerate_front(*question.cp_sat(), resume={file!r}, threads={threads}, progress=step)
"""


def child(file: Path, threads: int) -> subprocess.Popen[str]:
    """A process at work on the file: at first and after each answer it writes a line and waits for one."""
    paths = [str(Path(front_data.__file__).parent), *sys.path]
    code = CHILD.format(paths=paths, file=str(file), threads=threads)
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def records(file: Path) -> int:
    """Whole answers in the file: its lines less the header."""
    return max(0, file.read_bytes().count(b"\n") - 1) if file.exists() else 0


def killed(file: Path, answers: int, threads: int = 1) -> int:
    """Kill a child as it goes on after so many answers; how many it left."""
    with child(file, threads) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(answers + 1):
            assert process.stdout.readline()
            process.stdin.write("go on\n")
            process.stdin.flush()
        os.kill(process.pid, signal.SIGKILL)
    return records(file)


@pytest.mark.slow
def test_kill_9_anywhere_and_resume(tmp_path):
    """A child is killed at random moments; whoever resumes its file gets the same front."""
    kills = draws(1, 20)
    rng = random.Random(7)
    whole = enumerate_front(*QUESTION.cp_sat())
    for trial in range(kills):
        file = tmp_path / f"{trial}.jsonl"
        answers = rng.randrange(whole.solves - 1)
        kept = killed(file, answers)
        assert answers <= kept <= answers + 1, "it waits after each answer"
        front = enumerate_front(*QUESTION.cp_sat(), resume=file)
        assert front.complete
        assert front.sort_keys.tolist() == whole.sort_keys.tolist()
        assert (front.recalled, front.solves) == (kept, whole.solves - kept)
        assert records(file) == whole.solves


@pytest.mark.slow
def test_kill_9_with_several_sub_problems_under_way(tmp_path):
    """Nothing that was answered is asked again, however many are asked at once before and after."""
    kills = draws(1, 20)
    rng = random.Random(8)
    whole = enumerate_front(*QUESTION.cp_sat())
    for trial in range(kills):
        file = tmp_path / f"{trial}.jsonl"
        answers = rng.randrange(whole.solves // 2)
        kept = killed(file, answers, threads=3)
        assert kept >= answers
        front = enumerate_front(*QUESTION.cp_sat(), resume=file, threads=(2, 1, 3)[trial % 3])
        assert front.complete
        assert front.sort_keys.tolist() == whole.sort_keys.tolist()
        assert front.recalled == kept
        assert records(file) == kept + front.solves
        assert kept + front.solves <= 2 * whole.solves


def test_killed_at_every_single_write(tmp_path):
    """Any prefix of the file, in bytes, resumes to the same front; only what is missing is solved."""
    file = tmp_path / "front.jsonl"
    small = front_data.knapsack(6, 3, seed=0)
    whole = enumerate_front(*small.cp_sat(), resume=file)
    content = file.read_bytes()
    header = content.index(b"\n") + 1
    for cut in range(header, len(content) + 1, draws(19, 7)):
        file.write_bytes(content[:cut])
        kept = content[:cut].count(b"\n") - 1
        front = enumerate_front(*small.cp_sat(), resume=file)
        assert front.sort_keys.tolist() == whole.sort_keys.tolist()
        assert front.solutions == whole.solutions
        assert (front.recalled, front.solves) == (kept, whole.solves - kept)
        assert file.read_bytes().count(b"\n") == content.count(b"\n")


@pytest.mark.parametrize("build", ["cp_sat", "highs"])
@pytest.mark.parametrize("stages", ["one", "two"])
def test_limits_and_resume_add_up(tmp_path, build, stages):
    small = front_data.knapsack(draws(7, 9), 3, seed=2)
    file = tmp_path / "front.jsonl"
    total, fronts = 0, []
    while not fronts or not fronts[-1].complete:
        fronts.append(enumerate_front(*getattr(small, build)(), resume=file, solve_limit=3, stages=stages))
        assert fronts[-1].recalled == total
        total += fronts[-1].solves
    assert fronts[-1].sort_keys.tolist() == small.brute_force()
    assert len(fronts) > 2
    again = enumerate_front(*getattr(small, build)(), resume=file, stages=stages)
    assert (again.solves, again.recalled) == (0, total)
    assert again.verify(again.backend) == []


@pytest.mark.parametrize("items", [(draws(7, 9), 3), (9, 2), (draws(6, 7), 4)])
@pytest.mark.parametrize("stages", ["one", "two"])
def test_what_one_thread_answered_others_recall_and_the_other_way_round(tmp_path, items, stages):
    small = front_data.knapsack(*items, seed=2)
    for first, then in ((1, 3), (3, 1), (3, 2))[: draws(2, 3)]:
        file = tmp_path / f"{first}-{then}.jsonl"
        cut = enumerate_front(*small.cp_sat(), resume=file, solve_limit=5, stages=stages, threads=first)
        front = enumerate_front(*small.cp_sat(), resume=file, stages=stages, threads=then)
        assert front.sort_keys.tolist() == small.brute_force()
        assert front.recalled == records(file) - front.solves == cut.solves
        again = enumerate_front(*small.cp_sat(), resume=file, stages=stages, threads=first)
        assert again.complete
        assert again.sort_keys.tolist() == front.sort_keys.tolist()
        assert again.solves == 0
        assert again.recalled <= cut.solves + front.solves
        assert again.verify() == []


@pytest.mark.parametrize("turned", [False, True])
def test_a_first_stage_without_its_second_is_not_asked_for_it_again(tmp_path, turned):
    """Whatever second stage is missing, and in whatever order the rest was written: one continuation, then no solve."""
    small = front_data.knapsack(7, 4, seed=2)
    whole = enumerate_front(*small.cp_sat(), resume=tmp_path / "whole.jsonl", stages="two")
    header = json.loads((tmp_path / "whole.jsonl").read_text().split("\n")[0])
    with contextlib.closing(Journal(tmp_path / "whole.jsonl", {k: header[k] for k in HEADER})) as journal:
        answers = list(journal.answers.items())
    seconds = [key for key, _ in answers if min(key[0]) > 0]
    for missing in seconds[1:]:
        file = tmp_path / f"{seconds.index(missing)}.jsonl"
        # The first question is missing, too: all is recalled before the question of the lost stage would be asked.
        kept = [(key, answer) for key, answer in answers[2:] if key != missing]
        with contextlib.closing(Journal(file, {k: header[k] for k in HEADER})) as journal:
            for (weights, boxes), answer in kept[::-1] if turned else kept:
                journal.add(weights, boxes, answer)
        front = enumerate_front(*small.cp_sat(), resume=file, stages="two")
        assert front.recalled == len(kept)
        again = enumerate_front(*small.cp_sat(), resume=file, stages="two", threads=3)
        assert again.solves == 0
        assert front.sort_keys.tolist() == again.sort_keys.tolist() == whole.sort_keys.tolist()


def test_an_empty_file_is_taken(tmp_path):
    file = tmp_path / "front.jsonl"
    file.touch()
    assert enumerate_front(*front_data.knapsack(4, 2, seed=0).cp_sat(), resume=file).complete


SMALL = front_data.knapsack(9, 2, seed=0)


@pytest.fixture
def journal(tmp_path) -> Path:
    file = tmp_path / "front.jsonl"
    enumerate_front(*SMALL.cp_sat(), resume=file)
    return file


def refuse(file: Path, words: str, **changes) -> None:
    built = changes.pop("built", SMALL.cp_sat())
    before = file.read_bytes() if file.is_file() else b""
    with pytest.raises(InvalidFile, match=words) as caught:
        enumerate_front(*built, resume=file, **changes)
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)
    assert not file.is_file() or file.read_bytes() == before


def test_a_damaged_last_line_is_dropped(journal):
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([*lines[:-2], lines[-2].replace(b"1", b"2", 1), b""]))
    front = enumerate_front(*SMALL.cp_sat(), resume=journal)
    assert (front.solves, front.recalled) == (1, len(lines) - 3)
    assert front.complete


def test_any_flipped_bit_before_the_last_line_is_noticed(journal):
    content = journal.read_bytes()
    end = content.rstrip(b"\n").rindex(b"\n")
    for place in range(0, end, 5):
        bad = bytearray(content)
        bad[place] ^= 1
        journal.write_bytes(bad)
        with pytest.raises(InvalidFile, match=r"is damaged|is not a journal"):
            enumerate_front(*SMALL.cp_sat(), resume=journal)


def test_a_lost_or_swapped_line_is_noticed(journal):
    lines = journal.read_bytes().split(b"\n")
    assert len(lines) > 5
    journal.write_bytes(b"\n".join([lines[0], *lines[2:]]))
    refuse(journal, "line 2: is damaged; restore the file or start a new one")
    journal.write_bytes(b"\n".join([lines[0], lines[2], lines[1], *lines[3:]]))
    refuse(journal, "line 2: is damaged")


def test_a_file_of_something_else(tmp_path):
    file = tmp_path / "instance.json"
    file.write_text(json.dumps({"kind": "preemption.instance"}) + "\n")
    refuse(file, "line 1: is damaged|is not a journal")
    file.write_text("no newline")
    refuse(file, "is not a journal of a front; choose another file")
    refuse(tmp_path, "is a directory; give a regular file")
    refuse(tmp_path / "missing" / "front.jsonl", "cannot be written: No such file or directory")


def test_a_file_of_another_model_or_call(journal):
    other = front_data.knapsack(9, 2, seed=1)
    refuse(journal, "belongs to another model or other objectives, not to this call", built=other.cp_sat())
    model, objectives, senses = SMALL.cp_sat()
    refuse(journal, "another model or other objectives", built=(model, objectives[::-1], senses))
    refuse(journal, "another model or other objectives", built=SMALL.highs())
    refuse(journal, "belongs to method = 'epsilon-constraint'", method="laumanns")
    refuse(journal, "belongs to stages = 'auto'", stages="two")


def test_a_file_of_an_earlier_format(journal):
    first, _, rest = journal.read_bytes().partition(b"\n")
    header = json.loads(first)
    del header["check"]
    text = json.dumps({**header, "version": 1})
    journal.write_bytes(f'{text[:-1]}, "check": {zlib.crc32(text.encode(), 0)}}}\n'.encode() + rest)
    refuse(journal, "line 2: is damaged|version = 1: this release reads 2; choose another file")
    journal.write_bytes(journal.read_bytes().partition(b"\n")[0] + b"\n")
    refuse(journal, "version = 1: this release reads 2; choose another file")


def test_a_file_in_use(journal):
    import fcntl

    with journal.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refuse(journal, "is in use by another process")
    assert enumerate_front(*SMALL.cp_sat(), resume=journal).solves == 0
