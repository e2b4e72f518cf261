"""`mlsched train`: exit statuses, JSON, curves, resuming."""

from __future__ import annotations

import json

import pytest

from mlsched.cli.main import run

pytest.importorskip("torch")
SMALL = [x for s in ("episodes=3", "jobs=2", "validation=1", "limit=20", "every=2") for x in ("--set", s)]


def test_trains_writes_plots_and_goes_on(tmp_path, capsys):
    path, curve = tmp_path / "w.safetensors", tmp_path / "curve.png"
    call = ["train", "chic-pair", "--seed", "1", "-o", str(path), "--json", *SMALL]
    assert run([*call, "--iterations", "2", "--plot", str(curve)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["output"] == str(path)
    assert document["card"]["policy"] == "chic-pair"
    assert document["card"]["seed"] == 1
    assert [c["iteration"] for c in document["curve"]] == [1, 2]
    assert path.exists()
    assert curve.read_bytes().startswith(b"\x89PNG")
    assert run([*call, "--iterations", "4", "--resume"]) == 0
    assert [c["iteration"] for c in json.loads(capsys.readouterr().out)["curve"]] == [1, 2, 3, 4]


def test_an_interrupt_says_how_to_go_on(tmp_path, capsys, monkeypatch, control_c):
    from mlsched_training import trainer

    path, stop = tmp_path / "w.safetensors", 3
    train = trainer.train

    def interrupted(*arguments, progress, **given):
        return train(*arguments, progress=lambda k, n, best: control_c() if k == stop else None, **given)

    call = ["train", "chic-pair", "--iterations", "4", "-o", str(path), *SMALL]
    with monkeypatch.context() as patch:
        patch.setattr("mlsched_training.train", interrupted)
        assert run(call) == 130
        going_on = f"is in {path.with_suffix('.checkpoint')}; the same command with --resume goes on"
        assert capsys.readouterr().err.splitlines() == [
            f"mlsched: the training until its last validation {going_on}",
            "mlsched: interrupted",
        ]
        stop = 1
        assert run(call) == 130  # the checkpoint is the one of before
        assert capsys.readouterr().err.startswith("mlsched: nothing is kept: a checkpoint is written at every")
    assert run([*call, "--resume"]) == 0


def test_says_what_it_did(tmp_path, capsys):
    path = tmp_path / "w.safetensors"
    assert run(["train", "chic", "--iterations", "1", "-o", str(path), *SMALL]) == 0
    out = capsys.readouterr().out
    assert "validation score" in out
    assert f"chic:weights={path}" in out
    for part in ("completion", "actions for empty slots", "share of actions that change nothing", "criterion is met"):
        assert part in out


def test_ends_when_its_cpu_time_is_spent(tmp_path, capsys):
    path = tmp_path / "w.safetensors"
    call = ["train", "chic-pair", "--iterations", "50", "--cpu-limit", "0.000001", "-o", str(path), "--json", *SMALL]
    assert run(call) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["trained"] is False
    assert len(document["curve"]) == 2
    parts = [document["curve"][1][f"validation_reward{part}"] for part in ("_completion", "_absent", "_halves", "")]
    assert parts[3] == pytest.approx(sum(parts[:3]), rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nope"], "unknown policy 'nope'"),
        (["chic", "--set", "keep=2"], "keep: 2"),
        (["chic", "--set", "seed=2"], "--seed"),
        (["chic", "--set", "cpu_limit=2"], "--cpu-limit"),
        (["chic-plus", "--until-trained"], "lacks a criterion"),
        (["chic", "--device", "tpu"], "device"),
        (["chic", "--resume"], "file not found"),
        (["chic", "--plot", "curve.xyz"], "curve.xyz"),
    ],
)
def test_wrong_calls_exit_with_2(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert run(["train", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert captured.err.count("\n") == 1
