"""What a finding is: something that stands in none of the papers, with the measurements that show it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mlsched_papers.claim import Claim
from mlsched_papers.experiment import Settings
from mlsched_papers.report import Figure, Table


@dataclasses.dataclass(frozen=True)
class Section:
    """Part of a report. interpretations: what was run, in sentences; no two tables or claims share a name."""

    interpretations: tuple[str, ...]
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...] = ()


@dataclasses.dataclass(frozen=True)
class Finding:
    """name: short; text: the finding in a sentence; measure: carries its runs out, of the size that is asked for."""

    name: str
    text: str
    measure: Callable[[Settings], Section]
