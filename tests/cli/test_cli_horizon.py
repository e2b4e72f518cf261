"""A horizon on the command line: the exact answer by default, checked, drawn, and printed in full."""

import mlsched
from mlsched.instances.workers.horizons import horizon


def test_a_horizon_is_answered_exactly_checked_and_drawn(tmp_path, cli):
    question, plan, picture = (tmp_path / name for name in ("h.json", "plan.json", "plan.png"))
    mlsched.save(horizon("poisson-6", 2), question)
    answer = cli("solve", str(question), "-o", str(plan), "--plot", str(picture), "--json").document
    assert (answer["solver"], answer["status"]) == ("clairvoyant", "optimal")
    assert picture.stat().st_size > 1000
    checked = cli("check", str(question), str(plan))
    assert checked.status == 0
    assert "feasible" in checked.out
    assert "8326772.1" in checked.out


def test_a_run_of_preemption_is_generated_answered_checked_and_drawn(tmp_path, cli):
    question, plan, picture = (tmp_path / name for name in ("run.json", "plan.json", "plan.png"))
    assert cli("generate", "preemption", "--preset", "run-small", "--seed", "7", "-o", str(question)).status == 0
    answer = cli("solve", str(question), "-o", str(plan), "--plot", str(picture), "--json").document
    assert (answer["solver"], answer["status"], answer["value"]) == ("decision-tree", "optimal", 1080)
    assert picture.stat().st_size > 1000
    checked = cli("check", str(question), str(plan))
    assert (checked.status, "1080" in checked.out) == (0, True)
    rule = cli("solve", str(question), "--solver", "fitgpp:s=0", "--json").document
    assert rule["values"]["total_rescheduling"] >= 1080
    listed = cli("list", "problems", "--json").out
    assert "run-large-te" in listed
    assert "poisson-8" in listed


def test_epochs_of_quality_are_generated_answered_checked_and_drawn(tmp_path, cli):
    question, plan, picture = (tmp_path / name for name in ("epochs.json", "plan.json", "plan.png"))
    assert cli("generate", "quality", "--preset", "epochs", "--seed", "3", "-o", str(question)).status == 0
    answer = cli("solve", str(question), "-o", str(plan), "--plot", str(picture), "--json").document
    assert (answer["solver"], answer["status"]) == ("epoch-dp", "optimal")
    assert picture.stat().st_size > 1000
    checked = cli("check", str(question), str(plan))
    assert (checked.status, str(answer["value"]) in checked.out) == (0, True)
    rule = cli("solve", str(question), "--solver", "fair", "--json").document
    assert rule["value"] > answer["value"]


def test_a_policy_of_workers_is_generated_answered_checked_and_drawn(tmp_path, cli):
    question, plan, picture = (tmp_path / name for name in ("stream.json", "plan.json", "plan.png"))
    sizes = ("--size", "short=4", "--size", "long=8")
    assert cli("generate", "workers", "--preset", "stream-3", *sizes, "--seed", "3", "-o", str(question)).status == 0
    answer = cli("solve", str(question), "-o", str(plan), "--plot", str(picture), "--json").document
    assert (answer["solver"], answer["status"]) == ("backward-induction", "optimal")
    assert picture.stat().st_size > 1000
    checked = cli("check", str(question), str(plan))
    assert (checked.status, "feasible" in checked.out) == (0, True)
    rule = cli("solve", str(question), "--solver", "optimus", "--json").document
    assert rule["value"] > answer["value"]
