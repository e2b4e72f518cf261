"""What the claims of the Harmony paper are tested on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from mlsched.benchmark.experiments.harmony.grid import Grid
from mlsched.benchmark.experiments.harmony.measured import View
from mlsched.benchmark.experiments.harmony.prediction import Errors


@dataclasses.dataclass(frozen=True)
class Measured:
    """Everything that was measured. views: Fig. 8 by reading; rack: the same on 30 servers; errors: Fig. 9 by model."""

    grid: Grid
    views: Sequence[View]
    rack: View | None
    errors: Mapping[str, Errors]
