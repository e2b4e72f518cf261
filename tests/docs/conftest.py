"""What the tests of pages and examples share."""

from __future__ import annotations

import pytest
from draws import THOROUGH


@pytest.fixture(scope="module")
def bounds_to_show(request):
    """Bounds of runs are looser than a reader's, but for the thorough profile: no page promises one."""
    if not THOROUGH:
        request.getfixturevalue("quick_bounds")
