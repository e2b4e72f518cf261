"""Findings beyond the papers, measured with intervals: `mlsched reproduce findings`.

A finding is a file that exports one `FINDING`; the list below names them in the order of the report.
"""

from __future__ import annotations

import dataclasses
import functools

from mlsched_papers.experiment import Experiment, Progress, Settings
from mlsched_papers.findings import max_min, min_max_grace, steady_state
from mlsched_papers.findings.finding import Finding, Section
from mlsched_papers.report import Report
from mlsched_papers.runs import CHECKED, PAIRED, versions_sentence

TITLE = "Findings that stand in none of the papers"
#: All findings, in the order of the report.
FINDINGS: tuple[Finding, ...] = (steady_state.FINDING, min_max_grace.FINDING, max_min.FINDING)
#: Parts of a finding that progress counts.
PARTS = 1000


def run(settings: Settings) -> Report:
    """Measure every finding."""
    sections = [
        (finding, finding.measure(dataclasses.replace(settings, progress=_share(settings.progress, index))))
        for index, finding in enumerate(FINDINGS)
    ]
    return report(sections, TITLE + (" (quick)" if settings.quick else ""))


def report(sections: list[tuple[Finding, Section]], title: str = TITLE) -> Report:
    """Return the report of finished measurements."""
    stated = [f"Finding {letter}: {finding.text}." for letter, (finding, _) in zip("abcdefgh", sections, strict=False)]
    interpretations = [
        f"{finding.name}: {sentence}" for finding, section in sections for sentence in section.interpretations
    ]
    return Report(
        title=title,
        interpretations=(*stated, *interpretations, PAIRED, CHECKED, versions_sentence()),
        tables=tuple(table for _, section in sections for table in section.tables),
        figures=tuple(figure for _, section in sections for figure in section.figures),
        claims=tuple(claim for _, section in sections for claim in section.claims),
    )


def _share(progress: Progress | None, index: int) -> Progress | None:
    """Return the progress of the finding with that number as a part of the total."""
    return None if progress is None else functools.partial(_advance, progress, index)


def _advance(progress: Progress, index: int, done: int, total: int) -> None:
    progress(PARTS * index + PARTS * done // max(1, total), PARTS * len(FINDINGS))


EXPERIMENT = Experiment("findings", f"{TITLE}: no steady state, min-max grace periods, max-min loss", run)

__all__ = ["EXPERIMENT", "FINDINGS", "Finding", "Section"]
