"""Draws that are kept for all schedulers of a process are as they were drawn, whatever an earlier one did to them."""

from __future__ import annotations

from mlsched.instances import strategies
from mlsched.testing.drawing import examine_draws


def test_what_one_examination_did_to_a_record_no_other_sees():
    seen, strategy = [], strategies.workers()

    def spoil(record):
        seen.append(record.capacity.tolist())
        object.__setattr__(record, "capacity", record.capacity + 1)

    examine_draws(spoil, strategy, 5)
    first = list(seen)
    assert first
    for _ in range(2):
        seen.clear()
        examine_draws(spoil, strategy, 5)
        assert seen == first
