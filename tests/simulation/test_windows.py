"""A run through windows of time: figures against a computation apart, tick by tick."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.simulation.windows import Window, consecutive, moment, span


@pytest.fixture(scope="module", params=["fifo", "srpt:preempt=true", "as-logged"])
def run(request):
    frame = {
        "submit": [f"2024-03-01 {8 + k // 6:02d}:{10 * (k % 6):02d}:00" for k in range(60)],
        "start": [f"2024-03-02 {k // 3:02d}:{20 * (k % 3):02d}:00" for k in range(60)],
        "duration": [60 * (7 + 13 * (k * k % 11)) for k in range(60)],
        "gpus": [[1, 2, 4, 8][k % 4] for k in range(60)],
        "user": [f"u{k % 3}" for k in range(60)],
        "partition": [f"p{k % 2}" for k in range(60)],
    }
    jobs = mlsched.workload(frame, cluster="2x(8gpu)")
    return mlsched.simulate(jobs, request.param)


def by_ticks(run, window: Window) -> dict[str, float]:
    """Utilisation, queue and waiting of a window, from what the log of the run says of every minute."""
    jobs, first, last = run.workload, int(window.start // 60), int(window.end // 60)
    count, length = len(jobs.arrival), last - first
    held, there = np.zeros(length), np.zeros(length)
    end, busy = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    active = np.zeros((count, length), dtype=bool)
    gpus = np.zeros(count)
    for job in range(count):
        begin, stop = jobs.tasks[int(jobs.template[job])]
        gpus[job] = jobs.demand[begin:stop].sum() / 1000
    rows = [(row[0], row[1], row[2]) for row in run.log.rows]
    if run.solver == "as-logged":
        rows = [(job, start // 60_000, stop // 60_000) for job, start, stop in rows]
    for job, start, stop in rows:
        end[job] = max(end[job], stop)
        busy[job] += stop - start
        low, high = max(start - first, 0), max(stop - first, 0)
        held[low:high] += gpus[job]
        active[job, low:high] = True
    for job in range(count):
        low, high = max(int(jobs.arrival[job]) - first, 0), max(end[job] - first, 0)
        there[low:high] += 1
    counted = (jobs.arrival * 60 >= window.start) & (jobs.arrival * 60 < window.end)
    waiting = 60 * (end - jobs.arrival - busy)[counted]
    stay, ran = 60 * (end - jobs.arrival)[counted], 60 * busy[counted]
    area = gpus[counted] * ran
    return {
        "jobs": counted.sum(),
        "utilisation gpu": held.mean() / 16,
        "queue": (there - active.sum(axis=0)).mean(),
        "mean waiting": waiting.mean(),
        "waiting p95": np.percentile(waiting, 95),
        "mean completion": stay.mean(),
        "mean bounded slowdown": np.mean([max(1.0, s / max(r, 10)) for s, r in zip(stay, ran, strict=True)]),
        "area-weighted response": (area * stay).sum() / area.sum(),
        "GPU hours": area.sum() / 3600,
    }


@pytest.mark.parametrize("window", [Window(0, 36000), Window(7200, 14400), Window(10_800, 54_000)])
def test_figures_of_a_window_are_those_of_a_computation_apart(run, window: Window) -> None:
    found = run.windows().figures(window)
    for name, value in by_ticks(run, window).items():
        assert found[name] == pytest.approx(value), name
    assert found["queue"] > 0, "jobs wait"


def test_groups_add_up(run) -> None:
    view = run.windows()
    window = Window(3600, 28_800)
    whole = view.figures(window)
    for grouping, names in (("user", {"u0", "u1", "u2"}), ("partition", {"p0", "p1"}), ("size", None)):
        groups = view.by(window, grouping)
        assert names is None or set(groups) == names
        for name in ("jobs", "GPU hours"):
            assert sum(group[name] for group in groups.values()) == pytest.approx(whole[name])
        waited = sum(group["jobs"] * group["mean waiting"] for group in groups.values())
        assert waited == pytest.approx(whole["jobs"] * whole["mean waiting"])
    assert list(view.by(window, "size")) == ["1 GPU", "2 GPUs", "3 to 4 GPUs", "5 to 8 GPUs"]
    with pytest.raises(InvalidInput, match="by: group, expected one of user, partition, size"):
        view.by(window, "group")


def test_windows_one_after_another(run) -> None:
    view = run.windows()
    parts = list(consecutive(7200, Window(0, 36_000)))
    assert [(w.start, w.end) for w in parts] == [(7200 * k, 7200 * (k + 1)) for k in range(5)]
    jobs = [view.figures(window)["jobs"] for window in parts]
    assert sum(jobs) == 60
    whole = view.figures(Window(0, 36_000))
    assert np.mean([view.figures(w)["queue"] for w in parts]) == pytest.approx(whole["queue"])
    assert list(consecutive(40_000, Window(0, 36_000))) == []
    assert view.figures(Window(10**7, 10**7 + 60)) == {"jobs": 0, "utilisation gpu": 0, "queue": 0}


def test_times_in_words(run) -> None:
    assert [span(text) for text in ("90", "90s", "30min", "12h", "7d", "2w", 5)] == [
        90,
        90,
        1800,
        43200,
        604800,
        1209600,
        5,
    ]
    jobs = run.workload
    assert moment(jobs, "2h") == 7200
    assert moment(jobs, "2024-03-01T10:00:00") == 7200
    assert moment(jobs, "2024-03-02") == 16 * 3600
    with pytest.raises(InvalidInput, match=r"\+01:00: the log's dates lack a time zone; leave it out"):
        moment(jobs, "2024-03-01T10:00:00+01:00")
    assert moment(jobs.replace(clock=3), "2024-03-01T10:00:00+01:00") == 3600
    assert moment(jobs.replace(clock=3), "2024-03-01T10:00:00") == 7200, "of UTC"
    assert math.isclose(moment(jobs.replace(rate_ppm=2 * 10**6), "2h"), 3600), "twice the arrivals: half the time"
    for text, message in (
        ("soon", "soon: expected a length of time since the first submit (7d, 12h) or a date"),
        ("-3", "expected a length"),
    ):
        with pytest.raises(InvalidInput, match=message.replace("(", r"\(").replace(")", r"\)")):
            moment(jobs, text)
    with pytest.raises(InvalidInput, match="2024-03-01: the workload lacks dates; give a length of time since"):
        moment(mlsched.workload("synthetic:gangs:jobs=3"), "2024-03-01")
    with pytest.raises(InvalidInput, match="from 5 s to 5 s: must end after it begins"):
        Window(5, 5)
