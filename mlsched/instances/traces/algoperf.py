"""MLCommons AlgoPerf: the learning curves of the external-tuning submissions.

Source: github.com/mlcommons/algorithms_results_v0.5 (Apache-2.0); Dahl et al., "Benchmarking Neural Network Training
Algorithms", 2023. A run logs `<study>/<workload>/<trial>/eval_measurements.csv`; columns are found by name, because
their order differs between workloads. `accumulated_submission_time` is only training, in seconds, on 8 V100 GPUs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Literal

from mlsched.core.params import check_choice
from mlsched.instances.traces.curve import Curve, Points, members, parts, unknown_columns
from mlsched.instances.traces.source import Text, csv_header, csv_rows

STEP, SECONDS = "global_step", "accumulated_submission_time"
LOSSES = ("loss", "ctc_loss")
"""The columns that hold a loss, after `train/` or `validation/`; the first that a file has is read."""

Split = Literal["train", "validation"]
_MEMBER = re.compile(r"(.*/)?eval_measurements\.csv")


def read_curves(path: str | os.PathLike[str], *, split: Split = "train") -> Iterator[Curve]:
    """Read the curves in an archive (.tar, .tar.gz) of runs, or in one `eval_measurements.csv`, in file order.

    Args:
        path: The archive, or one CSV file, plain or gzip.
        split: The loss on the training or on the validation data. Both are measured by evaluations, not averaged over
            steps as in SLAQ, and the optimisation is non-convex throughout.

    Yields:
        Curves named "<study>/<workload>/<trial>", as far as the path contains them.

    Raises:
        InvalidFile: The file is missing, unreadable, without a run, or has a bad row: its place and the rule.
    """
    check_choice("split", split, ("train", "validation"))
    for inside, text in members(path, _MEMBER):
        with text:
            yield _read_curve(text, inside, split)


def _read_curve(text: Text, inside: str, split: str) -> Curve:
    header = csv_header(text)
    loss = next((f"{split}/{name}" for name in LOSSES if f"{split}/{name}" in header), None)
    if loss is None:
        raise unknown_columns(text, header, f"{split}/loss or {split}/ctc_loss")
    points = Points(text)
    for step, value, seconds in csv_rows(text, (STEP, loss, SECONDS), {}):
        points.add((STEP, step), (loss, value), (SECONDS, seconds))
    folders = parts(inside)[1:4]
    workload = folders[1] if len(folders) > 1 else "unknown"
    return points.build("/".join(reversed(folders)) or inside, workload.removesuffix("_jax").removesuffix("_pytorch"))
