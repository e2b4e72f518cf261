"""A horizon on the command line: the exact answer by default, checked, drawn, and printed in full."""

import mlsched
from mlsched.instances.workers.horizons import horizon


def test_a_horizon_is_answered_exactly_checked_and_drawn(tmp_path, cli):
    question, plan, picture = (tmp_path / name for name in ("h.json", "plan.json", "plan.png"))
    mlsched.save(horizon("poisson-6", 2), question)
    answer = cli("solve", str(question), "-o", str(plan), "--plot", str(picture), "--json").document
    assert (answer["answerer"], answer["status"]) == ("clairvoyant", "optimal")
    assert picture.stat().st_size > 1000
    checked = cli("check", str(question), str(plan))
    assert checked.status == 0
    assert "feasible" in checked.out
    assert "8326772.1" in checked.out
