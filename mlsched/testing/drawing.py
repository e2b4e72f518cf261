"""Drawing with Hypothesis, as every check here does it: the same draws each time, and nothing kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlsched.testing.checks import fail


def drawn(examine: Callable[[Any], None], strategy: Any, count: int) -> None:
    """Examine `count` draws; raises what the minimal failing one raises."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import Flaky

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(strategy)
    def draw(value: Any) -> None:
        examine(value)

    try:
        draw()
    except Flaky as flaky:
        sentence = "an instance fails once and not when it is asked again: calls depend on earlier ones"
        raise fail("reproducible", sentence) from flaky
