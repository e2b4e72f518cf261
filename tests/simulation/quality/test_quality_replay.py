"""The replay check: one injected fault per kind, and small random faults against a second-by-second recount."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.fields import UNLIMITED
from mlsched.simulation.findings import SHOWN
from mlsched.simulation.quality import Options, Workload
from mlsched.simulation.quality.log import Log
from mlsched.simulation.quality.replay import violations
from mlsched.simulation.quality.strategies import options, workloads
from mlsched.simulation.wake import Wake

N = 10**9
TICKS, EVENTS = Wake(False, 3), Wake(True, 0)
#: 4 cores; jobs of two iterations of 12 core-s; a non-ML job holds one core from 9 s on.
LOAD = Workload(
    cores=4,
    submit=[0, 3, 3],
    work=[12000] * 3,
    iterations=[2] * 3,
    loss=[[9 * N, 5 * N, 1 * N, 0]] * 3,
    family=[0] * 3,
    weight=[1] * 3,
    most=[UNLIMITED, 3, UNLIMITED],
    other_submit=[9],
    other_seconds=[90],
    other_cores=[1],
)
A1, A2, A3 = (0, 0, 3, 4, 12000, 5 * N), (0, 3, 6, 2, 18000, 3 * N), (0, 6, 9, 2, 24000, 1 * N)
B1, B2, B3 = (1, 3, 6, 1, 3000, 8 * N), (1, 6, 9, 1, 6000, 7 * N), (1, 9, 12, 2, 12000, 5 * N)
B4, B5 = (1, 12, 15, 2, 18000, 3 * N), (1, 15, 18, 2, 24000, 1 * N)
C1, C2 = (2, 3, 6, 1, 3000, 8 * N), (2, 6, 9, 1, 6000, 7 * N)
C3, C4, C5 = (2, 9, 12, 1, 9000, 6 * N), (2, 12, 15, 1, 12000, 5 * N), (2, 15, 18, 1, 15000, 4 * N)
C6 = (2, 18, 21, 3, 24000, 1 * N)
SOUND = (A1, A2, A3, B1, B2, B3, B4, B5, C1, C2, C3, C4, C5, C6)


def check(remove=(), add=(), wake=TICKS, load=LOAD, **readings) -> list[str]:
    rows = [row for row in SOUND if row not in remove]
    assert len(rows) == len(SOUND) - len(remove)
    return violations(load, Options(**readings), wake, Log(rows + list(add)))


def kinds(sentences: list[str]) -> set[str]:
    return {sentence.partition(":")[0] for sentence in sentences}


def test_a_sound_log_passes():
    assert check() == []
    assert check(wake=EVENTS) == []
    assert check(load=LOAD.replace(other_cores=[0])) == []


def changed(row, **fields):
    names = ("job", "start", "end", "cores", "served", "loss")
    return tuple(fields.get(name, value) for name, value in zip(names, row, strict=True))


FAULTS = {
    "too many cores": (
        "capacity",
        [C3, C4, C5, C6],
        [
            changed(C3, cores=2, served=12000, loss=5 * N),
            changed(C4, served=15000, loss=4 * N),
            changed(C5, served=18000, loss=3 * N),
            changed(C6, cores=2),
        ],
    ),
    "above its cap": (
        "cap",
        [A2, B1, B2, B3, B4, B5, C1],
        [
            changed(B1, cores=4, served=12000, loss=5 * N),
            changed(B2, served=15000, loss=4 * N),
            changed(B3, served=21000, loss=2 * N),
            changed(B4, served=24000, loss=1 * N),
        ],
    ),
    "before its submission": (
        "arrival",
        [A1, B1, B2, B3, B4, B5],
        [
            changed(A1, cores=3, served=9000, loss=6 * N),
            (1, 0, 3, 1, 3000, 8 * N),
            changed(B1, served=6000, loss=7 * N),
            changed(B2, served=9000, loss=6 * N),
            changed(B3, served=15000, loss=4 * N),
            changed(B4, served=21000, loss=2 * N),
            changed(B5, served=24000),
        ],
    ),
    "twice at a time": ("two places", [C2], [C2, changed(C2, end=9)]),
    "too little work": ("work", [A3], [changed(A3, served=23999)]),
    "too much work": ("work", [A2], [changed(A2, served=19000)]),
    "a loss not of its curve": ("loss", [B2], [changed(B2, loss=7 * N - 1)]),
    "the loss of another iteration": ("loss", [A1], [changed(A1, loss=1 * N)]),
    "lost": ("lost job", [C6], []),
    "runs on after its end": ("lost job", [], [(0, 18, 21, 1, 24000, 1 * N)]),
    "off the ticks": ("wake", [C6], [changed(C6, start=19, end=22)]),
    "two ticks long": ("wake", [C6], [changed(C6, end=24)]),
    "starved": ("least", [C1], []),
    "everybody starved": ("least", [A1, A2, A3], [(0, 0, 3, 4, 12000, 5 * N)]),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_fault_is_named_by_its_kind(fault):
    kind, remove, add = FAULTS[fault]
    assert kind in kinds(check(remove, add))


def test_a_job_with_a_target_must_leave_with_it_and_not_before():
    """Job 0 is at 5 after its first iteration, at 1 after its second and last."""
    assert kinds(check(load=LOAD.replace(target=[5 * N, -N, -N]))) >= {"lost job", "work"}
    assert check(load=LOAD.replace(target=[5 * N - 1, -N, -N])) == []
    # What its curve would be after its last iteration is no loss that it reports.
    assert check(load=LOAD.replace(target=[0, -N, -N])) == []
    early = [A2, A3]
    assert kinds(check(early)) >= {"lost job"}
    assert "lost job" not in kinds(check(early, load=LOAD.replace(target=[5 * N, -N, -N])))


#: Faults that leave everything else in order.
PURE = ("too many cores", "a loss not of its curve", "the loss of another iteration", "two ticks long")


@pytest.mark.parametrize("fault", PURE)
def test_and_by_no_other_kind(fault):
    kind, remove, add = FAULTS[fault]
    assert kinds(check(remove, add)) == {kind}


def test_a_tick_at_which_nobody_gets_a_core_is_found():
    late = [changed(A1, start=3, end=6), changed(A3, start=6, end=9, cores=4)]
    alone = LOAD.replace(
        submit=[0], work=[12000], iterations=[2], loss=[[9 * N, 5 * N, N]], family=[0], weight=[1], most=[4], target=()
    )
    assert kinds(violations(alone, Options(), TICKS, Log(late))) == {"least"}


#: One core and one job of 3 s.
ALONE = Workload(
    cores=1,
    submit=[0],
    work=[3000],
    iterations=[1],
    loss=[[9 * N, N]],
    family=[0],
    weight=[1],
    most=[UNLIMITED],
    other_submit=[0],
    other_seconds=[6],
    other_cores=[1],
)


def test_a_core_that_a_non_ml_job_leaves_is_due_at_once():
    assert violations(ALONE, Options(), EVENTS, Log([(0, 6, 9, 1, 3000, N)])) == []
    assert kinds(violations(ALONE, Options(), EVENTS, Log([(0, 9, 12, 1, 3000, N)]))) == {"least"}


def test_an_arrival_between_ticks_is_due_at_the_next():
    late = ALONE.replace(submit=[1], other_submit=[], other_seconds=[], other_cores=[])
    assert violations(late, Options(), TICKS, Log([(0, 3, 6, 1, 3000, N)])) == []
    assert kinds(violations(late, Options(), TICKS, Log([(0, 6, 9, 1, 3000, N)]))) == {"least"}
    # With ticks of a second there is one at its arrival.
    assert kinds(violations(late, Options(), Wake(False, 1), Log([(0, 2, 3, 1, 1000, N)]))) >= {"least"}


@pytest.mark.parametrize(("loss", "found"), [(0, set()), (1, set()), (2, {"loss"}), (-1, {"loss"})])
def test_a_loss_half_way_may_be_rounded_either_way(loss, found):
    half = ALONE.replace(work=[2000], loss=[[1, 0]])
    rows = [(0, 6, 7, 1, 1000, loss), (0, 7, 8, 1, 2000, 0)]
    assert kinds(violations(half, Options(), EVENTS, Log(rows))) == found


#: A quarter of the way from 10^12 + 1 to 10^12 - 1; half a unit and two of rounding are granted, and no more.
@pytest.mark.parametrize(("beyond", "found"), [(3, set()), (-2, set()), (4, {"loss"}), (-3, {"loss"})])
def test_large_losses_are_granted_the_rounding_of_floats(beyond, found):
    large = ALONE.replace(work=[4000], loss=[[10**12 + 1, 10**12 - 1]])
    rows = [(0, 6, 7, 1, 1000, 10**12 + beyond), (0, 7, 10, 1, 4000, 10**12 - 1)]
    assert kinds(violations(large, Options(), EVENTS, Log(rows))) == found


def test_cores_are_counted_when_a_segment_starts_between_all_else():
    two = ALONE.replace(
        submit=[0, 0], work=[3000] * 2, iterations=[1] * 2, loss=[[9 * N, N]] * 2, family=[0] * 2, weight=[1] * 2,
        most=[UNLIMITED] * 2, target=(), other_submit=[], other_seconds=[], other_cores=[],
    )  # fmt: skip
    rows = [(0, 0, 3, 1, 3000, N), (1, 1, 2, 1, 1000, round((9 - 8 / 3) * N)), (1, 3, 5, 1, 3000, N)]
    assert kinds(violations(two, Options(), EVENTS, Log(rows))) == {"capacity", "order"}


def test_work_and_losses_that_cannot_be_are_named_as_such():
    assert kinds(check([A1], [changed(A1, served=0)])) == {"work", "loss"}
    assert "loss" in kinds(check([C6], [changed(C6, served=36000, loss=0)]))


def test_where_jobs_need_no_core_nobody_is_starved():
    assert check(least=0) == []
    assert kinds(check([C1], least=0)) == {"work"}


@pytest.mark.parametrize(("reading", "found"), [("fair", set()), ("reservation", {"capacity", "order"})])
def test_non_ml_jobs_hold_their_share_or_all_they_ask_for(reading, found):
    """From 9 s on a non-ML job asks for 3 of 4 cores beside two jobs, and from 18 s on beside one."""
    greedy = LOAD.replace(other_cores=[3])
    last = [changed(C6, cores=2, served=21000, loss=2 * N), (2, 21, 24, 2, 24000, N)]
    assert kinds(check([C6], last, load=greedy, others=reading)) == found


def test_segments_between_ticks_are_fine_where_the_clock_wakes_at_events():
    late = changed(C6, end=20, cores=3)
    load = LOAD.replace(work=[12000, 12000, 10500])
    whole = [changed(row, loss=round((9 - 4 * row[4] / 10500) * N)) for row in (C1, C2, C3, C4, C5)]
    done = changed(late, served=21000)
    for wake in (EVENTS, Wake(True, 3)):
        assert check([C1, C2, C3, C4, C5, C6], [*whole, done], load=load, wake=wake) == []
    assert kinds(check([C1, C2, C3, C4, C5, C6], [*whole, done], load=load)) == {"wake"}


def test_a_job_that_should_wait():
    """With two cores each there is room for two jobs of four cores, for one beside the non-ML job."""
    wrong = kinds(check(least=2))
    assert wrong == {"least", "order"}


def test_whole_iterations_report_only_whole_losses():
    assert kinds(check(progress="carry")) == {"loss"}


@pytest.mark.parametrize(
    "row", [(9, 0, 3, 1, 0, 0), (3, 0, 3, 1, 0, 0), (-1, 0, 3, 1, 0, 0), (0, 3, 3, 1, 0, 0), (0, 0, 3, 0, 0, 0)]
)
def test_a_malformed_row_is_named(row):
    sentences = check(add=[row])
    assert kinds(sentences) == {"log"}
    assert str(row) in sentences[0]


def test_many_faults_of_a_kind_are_counted():
    found = check(remove=SOUND, load=LOAD)
    assert kinds(found) == {"lost job", "least"}
    many = violations(LOAD, Options(), TICKS, Log([(9, 0, 3, 1, 0, 0)] * (SHOWN + 3)))
    assert sum(s.startswith("log") for s in many) == SHOWN + 1
    assert "log: 3 more" in many


# -- small random faults ----------------------------------------------------------------------------------------------


def truly_sound(load: Workload, rows: list[tuple[int, ...]]) -> bool:
    """Second by second: no more cores than there are, none before a submission, at most the cap, all work done."""
    length = max((row[2] for row in rows), default=0) + 1
    cores = np.zeros((len(load.submit), length), dtype=np.int64)
    for job, start, end, held, _, _ in rows:
        cores[job, start:end] += held
    early = any(row[1] < load.submit[row[0]] for row in rows)
    enough = (1000 * cores.sum(axis=1) >= load.total).all()
    return bool(
        enough and not early and (cores.sum(axis=0) <= load.cores).all() and (cores <= load.most[:, None]).all()
    )


@pytest.mark.filterwarnings("ignore:the offered load")
@settings(max_examples=draws(12, 80))
@given(load=workloads(), readings=options(), data=st.data())
def test_a_small_fault_is_found_or_harmless(load, readings, data):
    run = api.simulate(load, "slaq", options=readings)
    rows = [tuple(map(int, row)) for row in run.log.rows]
    assert truly_sound(load, rows)
    index = data.draw(st.integers(0, len(rows) - 1))
    job, start, end, cores, served, loss = rows[index]
    shift = data.draw(st.sampled_from([-3, -1, 1, 3]))
    kind = data.draw(st.sampled_from(["start", "end", "both", "cores", "served", "loss", "drop", "twice"]))
    changes = {
        "start": [(job, start + shift, end, cores, served, loss)],
        "end": [(job, start, end + shift, cores, served, loss)],
        "both": [(job, start + shift, end + shift, cores, served, loss)],
        "cores": [(job, start, end, cores + shift, served, loss)],
        "served": [(job, start, end, cores, served + shift, loss)],
        # Losses between iterations are floats: a millionth is far beyond their rounding, whatever their size.
        "loss": [(job, start, end, cores, served, loss + shift * (2 + abs(loss) // 10**6))],
        "drop": [],
        "twice": [rows[index], rows[index]],
    }
    rows[index : index + 1] = changes[kind]
    found = violations(load, run.options, run.scheduling_events, Log(rows))
    if kind != "cores":  # more cores in the last segment of a job may do no harm
        assert found, (kind, rows)
    if not found:
        assert truly_sound(load, rows), (kind, rows)
