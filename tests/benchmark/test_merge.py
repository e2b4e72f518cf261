"""Stores made one: as if the suite had been run in one piece, or refused with a line that says why."""

from __future__ import annotations

import dataclasses
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from benchmark_examples import row, suite, timeless
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import InvalidFile, InvalidInput
from mlsched.benchmark.merge import SAME, merge
from mlsched.benchmark.reference import with_gaps
from mlsched.benchmark.request import Request, key_digest
from mlsched.benchmark.row import Row
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.store import Store, read_rows

#: Three solvers: a rule at random, a rule, and an exact one that is confirmed; two objectives or all, some instances.
OBJECTIVES, SEEDS = ("total_score", "victim_count", "max_grace_period")[: draws(2, 3)], draws(4, 5)
SUITE, ROWS = suite("rand", "fitgpp", "cp-sat", seeds=range(SEEDS), objectives=OBJECTIVES), 3 * len(OBJECTIVES) * SEEDS


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The store of the suite in one piece."""
    path = tmp_path_factory.mktemp("whole") / "whole.sqlite"
    run_suite(SUITE, store=path)
    return path


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Number of shards -> their stores, made once."""
    made = {}

    def make(count):
        if count not in made:
            folder = tmp_path_factory.mktemp(f"of{count}")
            made[count] = [folder / f"{number}.sqlite" for number in range(1, count + 1)]
            for number, path in enumerate(made[count], start=1):
                run_suite(SUITE, store=path, shard=(number, count))
        return made[count]

    return make


def written(path, *rows, suite="made", fingerprint="f", total=None, shard=(1, 1), places=None, **request):
    """A store of rows made by hand."""
    where = {key_digest(r.key): k for k, r in enumerate(rows)} if places is None else places
    with Store(path) as store:
        said = {"settings": {}, **request}
        store.note(Request(suite, fingerprint, said["settings"], total or len(where), (shard,), where))
        store.add(rows)
    return path


@settings(max_examples=draws(6, 200), deadline=None)
@given(st.integers(1, 7), st.randoms(use_true_random=False), st.integers(0, 3))
def test_merged_shards_are_the_unsharded_store(whole, parts, tmp_path_factory, count, random, twice):
    """Row by row and in the same order, whatever the number of parts, their order, and parts given twice."""
    stores = parts(count)
    given_ = random.sample(stores, count) + random.choices(stores, k=twice)
    target = tmp_path_factory.mktemp("merged") / "all.sqlite"
    merged = merge(given_, target)
    assert timeless(read_rows(target)) == timeless(read_rows(whole))
    assert (merged.rows, merged.total, merged.repeated) == (ROWS, ROWS, 0)
    assert merged.complete
    assert (merged.absent, merged.unfinished) == ((), ())


@settings(max_examples=draws(5, 100), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 4))
def test_merging_in_steps_is_merging_at_once(whole, parts, tmp_path_factory, random, count):
    """Into a store that grows, in any order; and with the whole, whose rows are then in two stores."""
    target = tmp_path_factory.mktemp("steps") / "all.sqlite"
    for done, path in enumerate(random.sample(parts(count), count), start=1):
        merged = merge([path], target)
        assert len(merged.absent) == count - done
        assert merged.complete == (done == count)
    assert timeless(read_rows(target)) == timeless(read_rows(whole))
    both = merge([whole], target)
    assert (both.rows, both.repeated) == (ROWS, ROWS)
    at_once = target.with_name("once.sqlite")
    merge([*parts(count), whole], at_once)
    assert read_rows(at_once) == read_rows(target)


def test_a_merged_store_is_gone_on_with(whole, parts, tmp_path):
    target = tmp_path / "some.sqlite"
    merge(parts(3)[:2], target)
    rows = run_suite(SUITE, store=target, resume=True)
    assert timeless(rows) == timeless(with_gaps(read_rows(whole)))
    again = merge([target, parts(3)[2]], tmp_path / "all.sqlite")
    assert again.complete
    assert again.absent == ()
    assert timeless(read_rows(tmp_path / "all.sqlite")) == timeless(read_rows(whole))


def test_shards_one_after_the_other_in_one_store(whole, tmp_path):
    path = tmp_path / "rows.sqlite"
    for number in (2, 1, 3):
        run_suite(SUITE, store=path, shard=(number, 3), resume=path.exists())
    assert merge([path], tmp_path / "all.sqlite").complete
    assert timeless(read_rows(tmp_path / "all.sqlite")) == timeless(read_rows(whole))


def test_an_interrupted_shard_is_named(parts, tmp_path):
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(parts(2)[0].read_bytes())
    with closing(sqlite3.connect(cut)) as connection, connection:
        connection.execute("DELETE FROM rows WHERE id > 5")
    merged = merge([cut, parts(2)[1]], tmp_path / "all.sqlite")
    assert merged.unfinished == (str(cut),)
    assert merged.absent == ()
    assert merged.rows == merged.total - (len(read_rows(parts(2)[0])) - 5)
    assert merge([cut, *parts(2)], tmp_path / "all.sqlite").complete


DIFFERENT = {
    "status": "feasible",
    "sort_key": 11,
    "sort_bound": 9,
    "sort_keys": {"cost": 11},
    "answer_seed": 8,
    "time_limit": 3.0,
    "work_limit": 2.0,
    "primary": None,
    "cases": {"a": True},
    "binding": {"b": True},
}


@pytest.mark.parametrize("field", [field for field in SAME if field != "primary"])
def test_rows_that_contradict_each_other_are_named_and_nothing_is_written(tmp_path, field):
    one = written(tmp_path / "one.sqlite", row(), row(seed=1))
    other = written(tmp_path / "other.sqlite", row(**{"sort_keys": {"cost": 10}, field: DIFFERENT[field]}), row(seed=1))
    target = tmp_path / "all.sqlite"
    before = getattr(row(), field)
    for stores in itertools.permutations((one, other)):
        with pytest.raises(InvalidInput) as said:
            merge(stores, target)
        sentence = str(said.value)
        assert sentence.startswith(f"p small, seed 0, cost, cp-sat: {field} ")
        assert f"{before} in {one}" in sentence
        assert f"{DIFFERENT[field]} in {other}" in sentence
        assert "more rows" not in sentence
        assert not target.exists()
    # A target is one of the stores: what it holds is not lost.
    kept = one.read_bytes()
    with pytest.raises(InvalidInput, match="in "):
        merge([other], one)
    assert one.read_bytes() == kept


def test_many_contradictions_are_counted_and_a_clock_is_blamed(tmp_path):
    rows = [row(seed=seed, stopped_by="time limit") for seed in range(4)]
    one = written(tmp_path / "one.sqlite", *rows)
    other = written(tmp_path / "other.sqlite", *(dataclasses.replace(r, sort_key=12) for r in rows))
    with pytest.raises(InvalidInput, match=r"which the wall clock cut: sort_key 10 in .*; and 3 more rows contradict"):
        merge([one, other], tmp_path / "all.sqlite")


def test_what_is_of_a_machine_and_an_hour_may_differ_and_the_better_evidence_is_kept(tmp_path):
    free = {f.name for f in dataclasses.fields(Row)} - {*SAME, "gap_to_optimum"}
    assert {"seconds", "cpu_seconds", "machine", "made", "peak_mib", "source", "evidence", "work"} < free
    one = row(seconds=1.0, machine="a", made="2026-01-01T00:00:00", evidence="unconfirmed")
    other = row(seconds=2.0, machine="b", made="2026-01-02T00:00:00", evidence="confirmed", confirmed_by="highs")
    paths = [written(tmp_path / f"{k}.sqlite", r) for k, r in enumerate((one, other))]
    for k, stores in enumerate(itertools.permutations(paths)):
        target = tmp_path / f"all{k}.sqlite"
        assert merge(stores, target).repeated == 1
        assert read_rows(target) == [other]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"suite": "else"}, "have different suites, made and else; merge stores of one suite"),
        ({"fingerprint": "g"}, "different requests for suite made: its instances, solvers or limits were others"),
        (
            {"fingerprint": "g", "settings": {"solvers": ["fitgpp"], "confirm": False}},
            "different requests for suite made: confirm not given and false; solvers not given and fitgpp; bench",
        ),
    ],
)
def test_stores_that_do_not_belong_together_are_refused(tmp_path, monkeypatch, changes, said):
    monkeypatch.chdir(tmp_path)  # messages are cut in their middle where paths are long
    suite_ = changes.get("suite", "made")
    one = written(Path("one.sqlite"), row())
    other = written(Path("other.sqlite"), row(seed=1, suite=suite_), **changes)
    with pytest.raises(InvalidInput) as refused:
        merge([one, other], Path("all.sqlite"))
    assert str(refused.value).startswith(f"{one} and {other}: {said}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.sqlite", "other.sqlite"]


def test_other_versions_are_refused_unless_accepted(tmp_path):
    one = written(tmp_path / "one.sqlite", row(versions={"mlsched": "1", "ortools": "9.14"}))
    other = written(tmp_path / "other.sqlite", row(seed=1, versions={"mlsched": "1"}))
    with pytest.raises(
        InvalidInput, match=r"one.sqlite and .*other.sqlite: rows of different versions, ortools 9.14 and"
    ):
        merge([one, other], tmp_path / "all.sqlite")
    merge([one, other], tmp_path / "all.sqlite", any_versions=True)
    assert [r.versions.get("ortools") for r in read_rows(tmp_path / "all.sqlite")] == ["9.14", None]


def test_stores_of_no_suite_of_two_and_without_a_request(tmp_path):
    good = written(tmp_path / "good.sqlite", row())
    target = tmp_path / "all.sqlite"
    with Store(tmp_path / "empty.sqlite"):
        pass
    two = written(tmp_path / "two.sqlite", row())
    written(two, row(suite="else"), suite="else")
    with Store(tmp_path / "unsaid.sqlite") as store:
        store.add([row()])
    damaged = written(tmp_path / "damaged.sqlite", row())
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("UPDATE requests SET request = '{\"suite\": 1}'")
    for name, said in {
        "empty": "has no suite, expected one",
        "two": "has suites else, made, expected one; bench each",
        "unsaid": r"the request of suite made is missing; repeat its mlsched bench with --resume",
        "damaged": "the stored request is damaged: a request has exactly suite, fingerprint",
        "none": "file not found",
    }.items():
        with pytest.raises(InvalidInput, match=said):
            merge([good, tmp_path / f"{name}.sqlite"], target)
    with pytest.raises(InvalidInput, match="a store is missing"):
        merge([], target)
    with pytest.raises(InvalidFile, match=r"is not a store|is an SQLite file"):
        merge([good], _other(tmp_path / "other.sqlite"))
    assert not target.exists()


def _other(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE things (name)")
    return path


def test_a_write_that_fails_leaves_what_there_was(tmp_path, monkeypatch):
    paths = [written(tmp_path / f"{k}.sqlite", row(seed=k), places={key_digest(row(seed=k).key): k}) for k in (0, 1)]
    target = written(tmp_path / "all.sqlite", row(seed=2), places={key_digest(row(seed=2).key): 2})
    kept = read_rows(target)

    def fails(row):
        raise RuntimeError("disk")

    monkeypatch.setattr("mlsched.benchmark.store._encode", fails)
    for place in (target, tmp_path / "new.sqlite"):
        with pytest.raises(RuntimeError, match="disk"):
            merge(paths, place)
    assert read_rows(target) == kept
    assert not (tmp_path / "new.sqlite").exists()
    monkeypatch.undo()
    merge(reversed(paths), target)
    assert [r.seed for r in read_rows(target)] == [0, 1, 2]
