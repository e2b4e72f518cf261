"""Numbers as the papers print them."""

import pytest

from mlsched_papers.digits import significant


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9.376, "9.38"),
        (33.42, "33.4"),
        (1.0, "1.00"),
        (2081.4, "2081"),
        (235.2, "235"),
        (999.7, "1000"),
        (0, "0"),
        (0.0098, "0.00980"),
        (None, "–"),
        (-1.5, "-1.50"),
        (0.00001234, "1.2e-05"),
    ],
)
def test_numbers_are_printed_to_three_digits(value, text):
    assert significant(value) == text
