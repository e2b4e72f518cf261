"""How often what a test of drawn logs is about was the case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest


def told_shares(report: Callable[[str, list[str]], object], title: str, seen: Counter[str]) -> Counter[str]:
    """Report each count as a share of the logs; skip where the test that draws them did not run."""
    if not seen["logs"]:
        pytest.skip("no logs were drawn")
    report(title, [f"{name}: {100 * n / seen['logs']:.0f} %" for name, n in seen.items()])
    return seen
