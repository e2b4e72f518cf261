"""Readers of learning curves: AlgoPerf and Pollux, from archives and from single files."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.traces import algoperf, curve, pollux

HEAD = "validation/loss,accumulated_submission_time,global_step,train/loss,score\n"
ROWS = "6.9,55.5,1,6.8,9\n5.4,565.8,1500,5.3,9\n"
CTC = "global_step,train/ctc_loss,accumulated_submission_time,validation/ctc_loss\n1,31,20,32\n"
EPOCHS = "progress,iteration,metric,grad_sqr,grad_var\n392.4,223,0.25,8.2,8.9\n781.5,401,0.75,0.6,1.7\n"
RUN = "AlgoPerf/base/study_0/imagenet_vit_jax/trial_1/eval_measurements.csv"


def archive(path: Path, members: dict[str, str], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def one_line(path: Path, read: Callable[[Path], object]) -> str:
    with pytest.raises(InvalidFile) as caught:
        list(read(path))
    assert str(caught.value).isprintable(), "expected one line"
    assert "; " in str(caught.value), "must name a remedy"
    return str(caught.value)


def file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_algoperf_archive(tmp_path: Path, mode: str) -> None:
    other = RUN.replace("imagenet_vit_jax", "deepspeech_pytorch")
    path = archive(tmp_path / "runs", {"hparams.json": "{}", RUN: HEAD + ROWS, other: CTC}, mode)
    first, second = algoperf.read_curves(path)
    assert (first.name, first.workload, len(first)) == ("study_0/imagenet_vit_jax/trial_1", "imagenet_vit", 2)
    assert first.steps.tolist() == [1, 1500]
    assert first.losses.tolist() == [6.8, 5.3]
    assert first.seconds is not None
    assert first.seconds.tolist() == [55.5, 565.8]
    assert not first.losses.flags.writeable
    assert (second.workload, second.losses.tolist()) == ("deepspeech", [31])
    assert [c.losses[0] for c in algoperf.read_curves(path, split="validation")] == [6.9, 32]


def test_algoperf_single_file(tmp_path: Path) -> None:
    plain = file(tmp_path / "study_1" / "wmt_jax" / "trial_3" / "eval_measurements.csv", HEAD + ROWS)
    (read,) = algoperf.read_curves(plain)
    assert (read.name, read.workload) == ("study_1/wmt_jax/trial_3", "wmt")
    zipped = tmp_path / "run.csv.gz"
    zipped.write_bytes(gzip.compress((HEAD + ROWS).encode()))
    (again,) = algoperf.read_curves(zipped)
    assert again.losses.tolist() == read.losses.tolist()


def test_pollux(tmp_path: Path) -> None:
    names = {"cifar10/placements.csv": "x", "cifar10/validation-512.csv": EPOCHS, "yolov3/validation-8.csv": EPOCHS}
    score, error = pollux.read_curves(archive(tmp_path / "t.tar.gz", names))
    assert (score.name, score.workload, score.seconds) == ("cifar10/validation-512", "cifar10", None)
    assert score.steps.tolist() == [223, 401]
    assert score.losses.tolist() == [0.75, 0.25], "accuracy becomes an error"
    assert error.losses.tolist() == [0.25, 0.75]
    single = file(tmp_path / "x.csv", EPOCHS)
    (named,) = pollux.read_curves(single, application="ncf")
    assert (named.name, named.losses.tolist()) == ("ncf/x", [0.75, 0.25])
    assert "is unknown; give application= (bert, cifar10" in one_line(single, pollux.read_curves)


BAD_ROWS = {
    "text": ("1,1,9,x,1\n", "line 4: train/loss: 'x', expected a finite number; cut a diverged run"),
    "nan": ("1,1,9,nan,1\n", "train/loss: 'nan', expected a finite number"),
    "infinite": ("1,1,9999,1e999,1\n", "train/loss: '1e999', expected a finite number"),
    "blank": ("1,1,9999,,1\n", "train/loss: '', expected a finite number"),
    "step back": ("1,999,1500,1,1\n", "line 4: global_step: '1500', expected above 1500, the row before; fix or"),
    "time back": ("1,9,1600,1,1\n", "accumulated_submission_time: '9', expected at least 565.8, the row before"),
    "fields": ("1,9,1600,1\n", "line 4: has 4 fields, expected 5"),
}


@pytest.mark.parametrize(("row", "rule"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_name_file_member_and_line(tmp_path: Path, row: str, rule: str) -> None:
    plain = file(tmp_path / "run.csv", HEAD + ROWS + row)
    path = archive(tmp_path / "a.tar.gz", {RUN: HEAD + ROWS + row})
    assert f"{plain}, line 4: " in one_line(plain, algoperf.read_curves)
    message = one_line(path, algoperf.read_curves)
    assert message.startswith(f"{path} :: {RUN}, line 4: ")
    assert rule in message


def test_bad_files(tmp_path: Path) -> None:
    read = algoperf.read_curves
    assert "file not found" in one_line(tmp_path / "none", read)
    assert "is a directory" in one_line(tmp_path, read)
    assert "is empty" in one_line(file(tmp_path / "empty", ""), read)
    assert "lacks column train/loss or train/ctc_loss; give one" in one_line(file(tmp_path / "a", "a,b\n1,2\n"), read)
    lacks = file(tmp_path / "b", "global_step,train/loss\n1,2\n")
    assert "the header lacks 'accumulated_submission_time'" in one_line(lacks, read)
    assert "line 1: the file has no observations" in one_line(file(tmp_path / "c", HEAD), read)
    assert "a member like" in one_line(archive(tmp_path / "d", {"x": "y"}), read)
    negative = file(tmp_path / "e", HEAD + "1,1,-1,1,1\n")
    assert "global_step: '-1', expected >= 0" in one_line(negative, read)
    score = file(tmp_path / "cifar10" / "validation-1.csv", EPOCHS.replace("0.25", "1.25"))
    assert "metric: '1.25', expected between 0 and 1, a score of cifar10" in one_line(score, pollux.read_curves)
    with pytest.raises(InvalidInput, match="split: 'test', expected one of train, validation"):
        list(read(tmp_path, split="test"))


def test_broken_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = archive(tmp_path / "a", {RUN + str(i): HEAD + ROWS * 99 for i in range(9)} | {RUN: HEAD + ROWS}, "w")
    cut = tmp_path / "cut"
    cut.write_bytes(gzip.compress(whole.read_bytes())[:-60])
    assert "the archive cannot be read (" in one_line(cut, algoperf.read_curves)
    monkeypatch.setattr(curve, "MAX_MEMBER", 10)
    assert "bytes, more than 10; give a log of losses" in one_line(whole, algoperf.read_curves)


def test_real_algoperf(shared_data: Path) -> None:
    path = shared_data / "algoperf_curves" / "algoperf_v05_baseline_study0.tar.gz"
    read = list(algoperf.read_curves(path))
    assert (len(read), sum(map(len, read))) == (70, 4924), "one submission of the three: 14 workloads x 5 trials"
    assert set(Counter(c.workload for c in read).values()) == {5}
    assert len({c.name for c in read}) == 70
    assert all(c.seconds is not None and (np.diff(c.seconds) > 0).all() for c in read)
    assert all(c.losses[-1] < c.losses[0] for c in read)
    assert len(list(algoperf.read_curves(path, split="validation"))) == 70


def test_real_pollux(shared_data: Path) -> None:
    read = list(pollux.read_curves(shared_data / "pollux" / "pollux_traces.tar.gz"))
    assert len(read) == 40
    assert Counter(c.workload for c in read) == {
        "bert": 6,
        "cifar10": 6,
        "deepspeech2": 6,
        "imagenet": 7,
        "ncf": 8,
        "yolov3": 7,
    }
    assert all(c.losses[-1] < c.losses[0] for c in read)
