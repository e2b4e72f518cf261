"""Parts of a suite: disjoint, complete, the same wherever they are made, and as large as each other."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
from benchmark_examples import suite
from hypothesis import given
from hypothesis import strategies as st

from mlsched import InvalidInput
from mlsched.benchmark.request import Request, keys_of, request_of
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.shards import shard_of, shard_tasks
from mlsched.benchmark.tasks import tasks_of


@dataclasses.dataclass(frozen=True)
class Question:
    """A task as a shard sees it."""

    content: tuple[str, int, str]
    solver: str
    limits: dict = dataclasses.field(default_factory=dict)

    @property
    def keys(self):
        return [("made", self.content[2], "cost", self.solver, "{}", 0)]


QUESTIONS = st.lists(
    st.builds(
        Question,
        st.tuples(
            st.sampled_from(["placement", "quality"]), st.integers(1, 3), st.text("0123", min_size=1, max_size=2)
        ),
        st.sampled_from(["a", "b", "c"]),
    ),
    max_size=30,
    unique_by=lambda question: (question.content, question.solver),
)


@given(QUESTIONS, st.integers(1, 40), st.randoms(use_true_random=False))
def test_shards_are_disjoint_complete_even_and_know_no_order(questions, count, random):
    parts = [shard_tasks(questions, (number, count)) for number in range(1, count + 1)]
    assert sorted(map(repr, questions)) == sorted(repr(task) for part in parts for task in part)
    held = [{task.content for task in part} for part in parts]
    assert all(not one & other for k, one in enumerate(held) for other in held[:k])
    assert max(map(len, held)) - min(map(len, held)) <= 1
    # The largest instances do not meet in one part: of those of a problem and size, too, each has as many.
    for kind in {task.content[:2] for task in questions}:
        sizes = [sum(content[:2] == kind for content in part) for part in held]
        assert max(sizes) - min(sizes) <= 1
    assert all(part == [task for task in questions if task in part] for part in parts)
    shuffled = random.sample(questions, len(questions))
    assert [set(map(repr, shard_tasks(shuffled, (number, count)))) for number in range(1, count + 1)] == [
        set(map(repr, part)) for part in parts
    ]


@given(QUESTIONS, st.integers(1, 6), st.randoms(use_true_random=False))
def test_a_request_knows_no_order_and_sees_every_change(questions, count, random):
    whole = request_of("made", questions, questions, None, {})
    shuffled = random.sample(questions, len(questions))
    parts = [
        request_of("made", shuffled, shard_tasks(shuffled, (k, count)), (k, count), {}) for k in range(1, count + 1)
    ]
    assert {part.fingerprint for part in parts} == {whole.fingerprint}
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.joined(part)
    assert joined.absent == []
    assert joined.places.keys() == whole.places.keys()
    assert len(whole.places) == whole.total == len(keys_of(questions))
    assert Request.from_json(joined.to_json()) == joined
    for k, task in enumerate(questions):
        for changed in (dataclasses.replace(task, solver="d"), dataclasses.replace(task, limits={"time_limit": 1.0})):
            others = [*questions[:k], changed, *questions[k + 1 :]]
            assert request_of("made", others, others, None, {}).fingerprint != whole.fingerprint


def test_a_shard_holds_whole_instances_of_a_real_suite():
    tasks = tasks_of(suite("fitgpp", "cp-sat", seeds=range(7)), None)
    parts = [shard_tasks(tasks, (number, 3)) for number in (1, 2, 3)]
    assert sorted(Counter(task.instance_hash for task in part).total() for part in parts) == [8, 8, 12]
    assert all(set(Counter(task.instance_hash for task in part).values()) == {4} for part in parts)


def test_more_shards_than_instances_leave_some_with_nothing_to_do(tmp_path):
    rows = [run_suite(suite("fitgpp", seeds=[0, 1]), shard=(number, 5)) for number in range(1, 6)]
    assert [len(part) for part in rows] == [3, 3, 0, 0, 0]


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "a/b", "1/4/2", "-1/4", "1/99999999", "", "１/2"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(InvalidInput, match=r"shard: .*, expected I/N with 1 <= I <= N <= 1000000, such as 1/16"):
        shard_of(text)


def test_a_shard_is_read_and_checked():
    assert shard_of("03/16") == (3, 16)
    with pytest.raises(InvalidInput, match=r"shard: \(0, 2\), expected I/N"):
        run_suite(suite("fitgpp"), shard=(0, 2))
