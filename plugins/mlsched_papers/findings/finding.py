"""A finding beyond the papers, with the measurements that show it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mlsched_papers.claim import Claim
from mlsched_papers.experiment import Settings
from mlsched_papers.report import Figure, Table


@dataclasses.dataclass(frozen=True)
class Section:
    """Part of a report.

    Attributes:
        interpretations: Description of the runs, in sentences; names of tables and claims are unique.
    """

    interpretations: tuple[str, ...]
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...] = ()


@dataclasses.dataclass(frozen=True)
class Finding:
    """A finding.

    Attributes:
        name: Short name.
        text: The finding in a sentence.
        measure: Function that performs its runs, of the requested size.
    """

    name: str
    text: str
    measure: Callable[[Settings], Section]
