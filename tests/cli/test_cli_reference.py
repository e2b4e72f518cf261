"""`mlsched reference`, `mlsched check FOLDER --log LOG` and `mlsched simulate --reference FOLDER`, over a tiny log.

Nothing here waits for time: a reference of so few jobs ends after its moves, and `--time-limit 0` stops after the first
step whatever the clock says.
"""

from __future__ import annotations

import gzip
import json
import shutil
import signal
from pathlib import Path

import pytest

from mlsched.api.taskgraph import references
from mlsched.simulation.taskgraph.iterations.reference.folder import MANIFEST, PRICES, SCHEDULE

MINUTES, GPUS, EVERY = (10, 20, 40), (2, 4, 8, 1), 300
CLUSTER = ("--cluster", "2x(8gpu)")


def written(path, *, jobs=10, last=None):
    """A log of so many jobs on 1 to 8 GPUs, one each five minutes; last: the minutes of the last one."""
    minutes = [MINUTES[k % 3] for k in range(jobs)]
    minutes[-1] = last or minutes[-1]
    rows = [f"{EVERY * k},{60 * m},{GPUS[k % 4]}" for k, m in enumerate(minutes)]
    path.write_text("\n".join(["submit_s,duration_s,gpus", *rows]) + "\n")
    return path


@pytest.fixture
def log(tmp_path):
    return written(tmp_path / "log.csv")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """References without and with pauses, made once by the command, and what it printed as JSON."""
    return tmp_path_factory.mktemp("references"), {}


@pytest.fixture
def made(kept, cli, log):
    """`made(*words)`: the folder of a reference with these options, and its document."""
    room, documents = kept

    def make(*words):
        folder = room / ("-".join(w.strip("-") for w in words) or "straight")
        if folder not in documents:
            call = ("reference", log, *CLUSTER, "-o", folder, "--moves", 20, *words, "--json")
            documents[folder] = cli(*call).document
        return folder, documents[folder]

    return make


@pytest.fixture
def changed(tmp_path):
    """`changed(folder, name, change)`: a copy of a reference in which a file's JSON was changed."""

    def copy(folder, name, change):
        to = tmp_path / "changed"
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(folder, to)
        content = (to / name).read_bytes()
        data = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
        change(data)
        text = json.dumps(data).encode()
        (to / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return to

    return copy


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_log_is_bounded_checked_and_measured_against(cli, log, made):
    straight, found = made()
    assert contents(straight).keys() == {MANIFEST, PRICES, SCHEDULE}
    assert (found["jobs"], found["pausing"], found["weights"], found["moves"]) == (10, False, "jobs", 20)
    assert 0 < found["bound"] < found["value"], "the log is crowded enough for a gap"
    checked = cli("check", straight, "--log", log, "--json").document
    sides = {"bound": found["bound"], "value": found["value"]}
    assert checked == {**found, "recomputed": sides, "violations": []}
    shown = cli("check", straight, "--log", log)
    assert (shown.status, shown.err) == (0, "")
    assert f"no schedule has less than {found['bound']} ticks" in shown.out
    assert "both sides hold: recomputed from the log" in shown.out

    call = ("simulate", "fifo", "srpt", "--trace", log, *CLUSTER, "--reference", straight)
    table = cli(*call)
    assert table.status == 0
    assert "total_jct loses at least" in table.out
    assert "total_jct loses at most" in table.out
    runs = cli(*call, "--json").document["runs"]
    for run in runs:
        total, losses = run["summary"]["total_jct"], run["losses"]["jobs"]
        assert losses["at_least"] == pytest.approx(max(0, total / found["value"] - 1))
        assert losses["at_most"] == pytest.approx(total / found["bound"] - 1)
    assert runs[0]["losses"]["jobs"]["at_least"] > 0, "fifo is not optimal, and that is proven"


def test_each_run_is_measured_by_the_references_that_allow_what_it_does(cli, log, made):
    (straight, _), (pauses, found), (area, _) = made(), made("--pausing"), made("--weights", "area")
    words = ("--reference", straight, "--reference", pauses, "--reference", area)
    call = ("simulate", "fifo", "srpt:preempt=true", "--trace", log, *CLUSTER)
    fifo, paused = cli(*call, *words, "--json").document["runs"]
    assert set(fifo["losses"]) == {"jobs", "area"}
    assert set(paused["losses"]) == {"jobs"}
    assert paused["losses"]["jobs"]["at_most"] == pytest.approx(paused["summary"]["total_jct"] / found["bound"] - 1)
    assert "completion times by area loses at least" in cli(*call, *words).out
    alone = ("simulate", "fifo", "--trace", log, *CLUSTER, "--reference", pauses)
    unfit = cli(*alone)
    assert (unfit.status, "loses" in unfit.out) == (0, False)
    assert "The reference with pauses" in unfit.err
    assert "no losses are shown by it" in unfit.err
    assert "losses" not in cli(*alone, "--json").document["runs"][0]
    for folder in (pauses, area):
        assert cli("check", folder, "--log", log).status == 0


def test_the_same_command_goes_on_and_never_gets_worse(cli, log, made, tmp_path):
    straight, found = made()
    folder = shutil.copytree(straight, tmp_path / "on")
    more = ("reference", log, *CLUSTER, "-o", folder, "--json")
    assert cli(*more, "--moves", 20).document == {**found, "folder": str(folder)}
    assert cli(*more, "--moves", 40, "--time-limit", 0).document["moves"] == 20, "no time for a move"
    further = cli(*more, "--moves", 40).document
    assert further["moves"] == 40
    assert (further["bound"], further["value"] <= found["value"]) == (found["bound"], True)

    call = ("reference", log, *CLUSTER, "-o", tmp_path / "pauses", "--pausing", "--json")
    first = cli(*call, "--time-limit", 0).document
    assert (first["moves"], first["how"]) == (1, "jobs by rank, where smaller ones make way")
    whole, once = cli(*call, "--moves", 20).document, made("--pausing")[1]
    assert [whole[name] for name in ("bound", "value", "how")] == [once[name] for name in ("bound", "value", "how")]
    assert whole["moves"] == once["moves"] == len(references.ranks.POWERS) + 20
    assert cli("check", tmp_path / "pauses", "--log", log).status == 0
    before = contents(tmp_path / "pauses")
    assert cli(*call, "--moves", 20).document == whole
    assert contents(tmp_path / "pauses") == before


def test_an_interrupt_says_what_is_kept(cli, log, made, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    folder = shutil.copytree(made()[0], tmp_path / "on")
    before = contents(folder)
    monkeypatch.setattr(references.search, "search", interrupted)
    stopped = cli("reference", log, *CLUSTER, "-o", folder, "--moves", 40)
    assert stopped.status == 128 + signal.SIGINT
    assert f"what was reached is in {folder}; the same command goes on with it" in stopped.err
    assert contents(folder) == before
    monkeypatch.setattr(references, "climbed", interrupted)
    stopped = cli("reference", log, *CLUSTER, "-o", tmp_path / "new", "--moves", 40)
    assert f"nothing was reached yet that could be kept in {tmp_path / 'new'}" in stopped.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (MANIFEST, lambda d: d.update(bound=d["bound"] + 1), "the prices prove"),
        (MANIFEST, lambda d: d.update(value=d["value"] - 1), "the schedule has"),
        (MANIFEST, lambda d: d.update(jobs=1), "there are 10 jobs, 1 are claimed"),
        (PRICES, lambda d: d["values"][0].__setitem__(0, d["values"][0][0] + 10**9), "the prices prove"),
        (PRICES, lambda d: d.update(step=0), "the prices prove nothing"),
        (SCHEDULE, lambda d: d["wait"].__setitem__(3, 10**12), "the schedule has"),
        (SCHEDULE, lambda d: d.update(wait=[0] * len(d["wait"])), "in use, its capacity is"),
    ],
)
def test_what_does_not_hold_is_refused_by_each_command(cli, log, made, changed, name, change, said):
    folder = changed(made()[0], name, change)
    before = contents(folder)
    found = cli("check", folder, "--log", log)
    assert (found.status, found.err.count("\n")) == (1, 1)
    assert found.err.startswith(f"mlsched: {folder}: does not hold: ")
    assert said in found.err
    assert "both sides hold" not in found.out
    as_json = cli("check", folder, "--log", log, "--json")
    assert (as_json.status, as_json.err) == (1, found.err)
    assert said in json.loads(as_json.out)["violations"][0]
    call = ("simulate", "fifo", "--trace", log, *CLUSTER, "--reference", folder)
    cli(*call).refused(f"--reference {folder}: does not hold: ", said)
    cli("reference", log, *CLUSTER, "-o", folder, "--moves", 40).refused(f"{folder}: does not hold: ", said)
    assert contents(folder) == before, "what does not hold is not gone on with"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (MANIFEST, lambda d: d.pop("bound"), "bound: is missing, unknown or of the wrong type"),
        (MANIFEST, lambda d: d.update(bound=True), "bound: expected an integer from 0 on"),
        (MANIFEST, lambda d: d.update(value=10**400), "value: expected an integer from 0 on, below 2^100"),
        (MANIFEST, lambda d: d.update(moves=-5), "moves: expected an integer from 0 on"),
        (MANIFEST, lambda d: d.update(cpu_seconds=10**400), "cpu_seconds: expected a number from 0 on"),
        (MANIFEST, lambda d: d.update(weights="gold"), "weights: there are jobs, area, urgency, class"),
        (MANIFEST, lambda d: d.update(version=9), "use a newer mlsched"),
        (PRICES, lambda d: d.update(values=[]), "values: expected lists of integers below 2^63, of one length"),
        (PRICES, lambda d: d.update(values=None), "values: expected lists of integers below 2^63, of one length"),
        (PRICES, lambda d: d["values"][0].__setitem__(0, 2**64), "values: expected lists of integers below 2^63"),
        (SCHEDULE, lambda d: d["wait"].__setitem__(0, 2**70), "expected a list of integers of at most 2^53"),
        (SCHEDULE, lambda d: d.clear(), "wait: None, expected a list of integers"),
        (SCHEDULE, lambda d: d["wait"].pop(), "expected 10 entries"),
    ],
)
def test_files_that_make_no_sense_are_named(cli, log, made, changed, name, change, said):
    folder = changed(made()[0], name, change)
    for call in (
        ("check", folder, "--log", log),
        ("simulate", "fifo", "--trace", log, *CLUSTER, "--reference", folder),
        ("reference", log, *CLUSTER, "-o", folder, "--moves", 40),
    ):
        cli(*call).refused(f"{folder / name}: ", said)


def test_a_schedule_with_pauses_that_makes_no_sense_is_named(cli, log, made, changed):
    folder = changed(made("--pausing")[0], SCHEDULE, lambda d: d.clear())
    cli("check", folder, "--log", log).refused(f"{folder / SCHEDULE}: log: job: None")


@pytest.mark.parametrize("name", [PRICES, SCHEDULE])
def test_files_that_are_not_there_or_broken_are_named(cli, log, made, tmp_path, name):
    folder = shutil.copytree(made()[0], tmp_path / "x")
    (folder / name).write_bytes(b"{no")
    cli("check", folder, "--log", log).refused(f"{folder / name}: is not JSON")
    (folder / name).unlink()
    cli("check", folder, "--log", log).refused(f"{folder / name}: file not found")
    cli("reference", log, *CLUSTER, "-o", folder).refused(f"{folder / name}: file not found")


def test_what_is_checked_is_named_by_the_log(cli, log, made, changed):
    claims = changed(made()[0], MANIFEST, lambda d: d.update(source="another.csv", cluster="900x(8gpu)"))
    found = cli("check", claims, "--log", log)
    assert found.status == 0
    assert "log.csv" in found.out
    assert "10 jobs on 2x(8 gpu)" in found.out
    assert "900" not in found.out


def test_of_two_references_of_a_kind_each_side_is_the_tighter(cli, log, made, changed):
    folder = made()[0]
    loose = changed(folder, MANIFEST, lambda d: d.update(bound=d["bound"] - 9, value=d["value"] + 9))
    call = ("simulate", "fifo", "--trace", log, *CLUSTER, "--json")
    alone, both = (
        cli(*call, *(word for each in given for word in ("--reference", each))).document["runs"][0]["losses"]
        for given in ([folder], [folder, loose])
    )
    assert alone == both
    other = cli(*call, "--reference", loose).document["runs"][0]["losses"]["jobs"]
    assert other["at_least"] < alone["jobs"]["at_least"]
    assert other["at_most"] > alone["jobs"]["at_most"]


def test_sums_with_weights_are_no_ticks(cli, log, made):
    assert "ticks x weight of completion - arrival" in cli("check", made("--weights", "area")[0], "--log", log).out
    assert "ticks of completion - arrival" in cli("check", made()[0], "--log", log).out


def test_another_log_or_cluster_is_refused(cli, log, made, tmp_path):
    folder, found = made()
    for other in (written(tmp_path / "longer.csv", last=30), written(tmp_path / "shorter.csv", jobs=9)):
        checked = cli("check", folder, "--log", other)
        assert (checked.status, checked.err.count("\n")) == (1, 1)
        assert f"{folder}: does not hold: it is of another log, cluster or reading" in checked.err
        call = ("simulate", "fifo", "--trace", other, *CLUSTER, "--reference", folder)
        cli(*call).refused("not of this run")
        cli("reference", other, *CLUSTER, "-o", folder).refused("is a reference of another log, cluster or question")
    moved = shutil.copy(log, tmp_path / "moved.csv")
    assert cli("check", folder, "--log", moved, "--json").document["violations"] == [], (
        "where the log lies does not matter"
    )
    wider = ("--cluster", "3x(8gpu)")
    cli("simulate", "fifo", "--trace", log, *wider, "--reference", folder).refused("not of this run")
    for words in (wider, (*CLUSTER, "--weights", "area"), (*CLUSTER, "--pausing"), (*CLUSTER, "--limit", 5)):
        cli("reference", log, *words, "-o", folder).refused("is a reference of another log, cluster or question")
    assert cli("check", folder, "--log", log, "--json").document["value"] == found["value"]


def test_wrong_calls_are_one_line(cli, log, made, tmp_path):
    folder = made()[0]
    mine, new = tmp_path / "mine", tmp_path / "new"
    mine.mkdir()
    (mine / "note.txt").write_text("mine")

    def refused(*words, source=log, output=new):
        return cli("reference", source, *CLUSTER, "-o", output, "--moves", 5, *words).refused

    refused(output=mine)(f"{mine}: exists and is not a reference; give another folder")
    refused(output=log)(f"{log}: exists and is not a reference; give another folder")
    refused(source=tmp_path / "none.csv")("none.csv: file not found")
    refused("--weights", "gold")("--weights: gold, expected one of jobs, area, urgency, class")
    refused("--time-limit", "-1")("--time-limit: -1.0, expected a number from 0 on")
    refused("--time-limit", "nan")("--time-limit: nan, expected a number from 0 on")
    refused("--moves", "-1")("--moves")
    refused("--set", "hours=3")("--set hours: there are tick")
    for name in ("cluster", "simulator", "strict"):
        refused("--set", f"{name}=1")(f"--set {name}: is not an option of a log")
    assert [file.name for file in mine.iterdir()] == ["note.txt"]
    assert not new.exists(), "what is refused leaves nothing"

    cli("check", folder).refused("is a reference; check it with --log LOG")
    cli("check", folder, "--log", tmp_path / "none.csv").refused("none.csv: file not found")
    cli("check", mine, "--log", log).refused(f"{mine}: is not a reference; give --log with a folder that")
    cli("check", new, "--log", log).refused(f"{new}: folder not found; check the path")
    cli("check", log, "--log", log).refused("--log: is for a folder that `mlsched reference` made", "is not a folder")
    call = ("simulate", "fifo", "--trace", log, *CLUSTER, "--reference", new)
    cli(*call).refused(f"--reference {new}: is not a reference; give a folder that `mlsched reference` made")


def test_distances_are_told_part_by_part(cli, log, made, tmp_path):
    (straight, _), (pauses, _) = made(), made("--pausing")
    words = ("--trace", log, *CLUSTER, "--reference", straight, "--reference", pauses, "--parts")
    shown = cli("simulate", "fifo", "las", *words)
    assert shown.status == 0
    for name in ("node shape", "no pauses", "price of pauses", "running times not known", "above the relaxed bound"):
        assert name in shown.out
    kept, figures = tmp_path / "runs.json", tmp_path / "figures.csv"
    runs = cli("simulate", "fifo", "las", *words, "-o", kept, "--table", figures, "--json").document["runs"]
    written = json.loads(kept.read_text())["runs"]
    for run, file in zip(runs, written, strict=True):
        parts = run["parts"]
        assert sum(part["value"] for part in parts["parts"]) == parts["total"] - parts["bound"]
        assert parts["total"] == run["summary"]["total_jct"]
        assert (file["parts"], file["losses"]) == (parts, run["losses"])
    assert "total_jct loses at least" in figures.read_text()
    assert ",part,node shape,at most," in figures.read_text()


def test_losses_stand_in_windows_and_beside_several_clusters(cli, log, made):
    straight, _ = made()
    words = ("--trace", log, "--reference", straight)
    windows = cli("simulate", "fifo", *words, *CLUSTER, "--from", "0d")
    assert (windows.status, "whole run: total_jct loses at least" in windows.out) == (0, True)
    several = cli("simulate", "fifo", *words, *CLUSTER, "--cluster", "3x(8gpu)", "--json").document
    bounds = next(table for table in several["tables"] if table["name"] == "bounds")
    assert ["(loses " in row[2] for row in bounds["rows"]] == [True, False], "the reference is of one of them alone"


def test_parts_are_of_logs(cli):
    refused = cli("simulate", "fifo", "--trace", "synthetic:z:jobs=20", "--problem", "preemption", "--parts")
    assert refused.status == 2
    assert "--parts: is for logs and their like" in refused.err


def test_what_may_pause_is_never_worse_than_what_may_not(made):
    (_, straight), (_, pauses) = made(), made("--pausing")
    assert pauses["value"] <= straight["value"]


def test_weights_by_classes_are_their_ranks(cli, write, tmp_path):
    """The lowest class counts 1 whatever its number; without classes the weights would be those of "jobs"."""
    log = write("submit,duration,gpus,priority\n0,600,8,7\n0,600,8,100\n0,600,8,7\n", "classes.csv")
    call = ("reference", log, "--cluster", "1x(8gpu)", "--weights", "class", "--moves", 0)
    cli(*call, "-o", tmp_path / "none").refused("all jobs are of one class; give --set classes=log")
    found = cli(*call, "--set", "classes=log", "-o", tmp_path / "ranks", "--json").document
    assert (found["weights"], found["value"]) == ("class", 2 * 10 + 20 + 30)


def test_options_of_the_reader(cli, tmp_path):
    log = Path(__file__).parents[1] / "instances" / "traces" / "logs" / "sacct-two-clusters.txt"
    call = ("reference", log, "--moves", 0, "-o", tmp_path / "beta")
    cli(*call).refused("the log has several clusters")
    assert cli(*call, "--set", "log_cluster=beta", "--json").document["jobs"] == 6
