"""The rule for columns: what holds its default is left out of files and hashes, so that a column may be added."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlsched
from mlsched.api.records import record_types
from mlsched.core.fields import (
    ArraySpec,
    IntArray,
    IntSpec,
    LabelsSpec,
    RecordSpec,
    TextSpec,
    array,
    integer,
    labels,
    record,
    text,
)
from mlsched.core.params import Parameter, resolve
from mlsched.core.record import Record, specs
from mlsched.core.registry import registry
from mlsched.simulation.taskgraph.iterations.log import Segments

TYPES = record_types()
ROWS = 2
#: New columns: their declaration, their default in a file, and another value.
NEW = {
    "new_number": (int, lambda dim: integer(low=-5, default=3), 3, -5),
    "new_word": (str, lambda dim: text(choices=("old", "new"), default="old"), "old", "new"),
    "new_names": (tuple, lambda dim: labels("others", default=()), [], ["a", "b"]),
    "new_rows": (IntArray, lambda dim: array(dim, low=-1, fill=-1), [-1] * ROWS, [-1, 0]),
    "new_table": (IntArray, lambda dim: array(dim, dim, fill=0), [[0] * ROWS] * ROWS, [[0, 0], [0, 1]]),
}


def grown(cls: type[Record]) -> type[Record]:
    """The class with a column of each sort more, behind its own."""
    declared = {name: declare(dim_of(cls) or name) for name, (_, declare, *_) in NEW.items()}
    declared["new_record"] = record(cls, optional=True)
    body = {"__annotations__": {**{name: kind for name, (kind, *_) in NEW.items()}, "new_record": Record}, **declared}
    return dataclasses.dataclass(frozen=True, eq=False, repr=False)(type(cls.__name__, (cls,), body))


def dim_of(cls: type[Record]) -> str:
    """A dimension of a field that the record must have; none where all may be left out, and new ones have their own."""
    sizes = (spec.shape[0] for spec in specs(cls).values() if isinstance(spec, ArraySpec) and spec.fill is None)
    return next(sizes, "")


def body_of(cls: type[Record]) -> dict[str, object]:
    """Data of the fields that a record must have: two rows of everything, of the least numbers."""
    return {
        field.name: value_of(specs(cls)[field.name])
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING
    }


def value_of(spec: object) -> object:
    match spec:
        case ArraySpec():
            return np.full([ROWS] * len(spec.shape), max(spec.low, min(spec.high, 0))).tolist()
        case IntSpec():
            return max(spec.low, min(spec.high, 1))
        case TextSpec():
            return spec.choices[0] if spec.choices else "text"
        case LabelsSpec():
            return [f"{spec.dim} {k}" for k in range(ROWS)]
        case RecordSpec():
            return {"kind": spec.of.kind, "version": spec.of.version, **body_of(spec.of)}
    raise AssertionError(spec)


@pytest.fixture(params=sorted(TYPES))
def cls(request, monkeypatch):
    """A registered record type, whose rules across fields are not looked at."""
    for found in TYPES.values():
        monkeypatch.setattr(found, "check", lambda self: None)
    return TYPES[request.param]


def test_a_new_column_changes_no_file_and_no_hash(cls):
    before, after = cls(**body_of(cls)), grown(cls)(**body_of(cls))
    assert after.to_json() == before.to_json()
    assert after.hash == before.hash


def test_a_file_may_name_a_column_that_holds_its_default(cls):
    new, body = grown(cls), body_of(cls)
    read = new.from_json(body)
    named = {name: default for name, (_, _, default, _) in NEW.items()} | {"new_record": None}
    if not dim_of(cls):
        named |= {"new_rows": [], "new_table": []}
    own = {name: specs(cls)[name].to_json(getattr(read, name)) for name in specs(cls)}
    again = new.from_json(json.loads(json.dumps({**own, **named})))
    assert again == read
    assert again.hash == read.hash
    assert again.to_json() == read.to_json() == {"kind": cls.kind, "version": cls.version, **body}


@pytest.mark.parametrize("name", [*NEW, "new_record"])
def test_another_value_changes_file_and_hash(cls, name):
    new = grown(cls)
    other = cls(**body_of(cls)) if name == "new_record" else NEW[name][3]
    read, changed = new(**body_of(cls)), new(**body_of(cls), **{name: other})
    assert changed != read
    assert changed.hash != read.hash
    assert set(changed.to_json()) == {*read.to_json(), name}
    back = new.from_json(json.loads(json.dumps(changed.to_json())))
    assert (back, back.hash) == (changed, changed.hash)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Trees(Record):
    """A dimension of which optional columns alone know the size."""

    kind = "trees"

    jobs: IntArray = array("jobs")
    parent: IntArray = array("queues", low=-1, fill=-1)
    use: IntArray = array("jobs", "queues", fill=0)
    names: tuple[str, ...] = labels("queues", default=())
    depth: IntArray = array("queues", fill=0)


@given(
    queues=st.integers(0, 3), jobs=st.integers(0, 2), bits=st.lists(st.integers(0, 1), min_size=20, max_size=20),
)  # fmt: skip
def test_no_size_is_lost_with_a_column_that_is_left_out(queues, jobs, bits):
    made = Trees(
        jobs=[0] * jobs,
        parent=np.array(bits[:queues], dtype=np.int64) - 1,
        use=np.array(bits[3 : 3 + jobs * queues], dtype=np.int64).reshape(jobs, queues),
        names=[f"q{k}" for k in range(queues)] if bits[-1] else [],
        depth=bits[16 : 16 + queues],
    )
    back = Trees.from_json(json.loads(json.dumps(made.to_json())))
    assert (back, back.hash) == (made, made.hash)
    assert ("depth" in made.to_json()) == any(bits[16 : 16 + queues])
    assert made.replace() == made


def test_columns_at_their_default_take_the_length_of_a_replaced_one():
    few = Trees(jobs=[1])
    assert few.replace(jobs=[1, 2]) == Trees(jobs=[1, 2])


@pytest.mark.parametrize("solver", registry().solvers.values(), ids=lambda a: f"{a.problem} {a.name}")
def test_a_new_parameter_changes_no_key_of_a_row(solver):
    declared = {**solver.parameters, "new": Parameter("new", int, 3)}
    assert resolve("", declared, {"new": 3}) == resolve("", declared, {}) == {}
    assert resolve("", declared, {"new": 4}) == {"new": 4}
    assert resolve("", declared, {name: p.default for name, p in solver.parameters.items()}) == {}


def test_a_column_of_a_log_that_has_its_default_everywhere_is_left_out():
    row = (0, 1, 2, 1, 0, 10, 10, 0, 0, 1)
    free = Segments([row, row], [(0,), (0,)])
    assert "cost" not in free.to_json()
    assert Segments.from_json(free.to_json()).rows == free.rows
    assert Segments.from_json({**free.to_json(), "cost": [0, 0]}).rows == free.rows
    paid = Segments([row, (*row[:8], 5, 1)], [(0,), (0,)])
    assert paid.to_json()["cost"] == [0, 5]
    assert Segments.from_json(paid.to_json()).rows == paid.rows


def test_files_of_answers_leave_out_what_says_nothing(tmp_path):
    result = mlsched.solve(mlsched.generate("preemption", "small"), "fitgpp")
    mlsched.save(result, tmp_path / "result.json")
    said = json.loads((tmp_path / "result.json").read_text())
    assert not {"evidence", "confirmed_by", "confirm_seconds", "doubt"} & set(said)
    (tmp_path / "named.json").write_text(json.dumps({**said, "evidence": None, "doubt": None}))
    assert mlsched.load(tmp_path / "result.json") == mlsched.load(tmp_path / "named.json") == result
    run = mlsched.simulate(mlsched.workload("synthetic:gangs", jobs=4), "fifo", options={"restart": "scratch"})
    mlsched.save(run, tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["options"] == {"restart": "scratch"}
    assert mlsched.load(tmp_path / "run.json") == run
