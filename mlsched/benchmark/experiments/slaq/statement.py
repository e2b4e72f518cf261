"""What the claims of the SLAQ paper are tested on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.benchmark.experiments.claim import Estimate
from mlsched.benchmark.experiments.slaq.grid import Grid
from mlsched.benchmark.experiments.slaq.measured import View
from mlsched.benchmark.experiments.slaq.prediction import Errors


@dataclasses.dataclass(frozen=True)
class Measured:
    """Everything that was measured. core: readings and variants; sweeps: Fig. 9; seconds: Fig. 10(c)."""

    grid: Grid
    core: Sequence[View]
    sweeps: Sequence[View]
    errors: Errors
    seconds: dict[int, Estimate | None]
