"""`mlsched worst`: where a rule loses, from the command line."""

import mlsched


def test_it_names_shows_and_writes_the_worst(cli, tmp_path):
    call = ("worst", "rand", "--problem", "preemption", "--preset", "small", "--count", "6", "--best", "brute-force")
    found = cli(*call, "--most", "2", "-o", tmp_path / "out", "--plot", tmp_path / "w.svg", "--json").document
    instances = {f"seed {s}": mlsched.generate("preemption", "small", seed=s) for s in range(6)}
    losses = mlsched.worst_cases("rand", instances, most=2, best="brute-force")
    assert found == {"instances": 6, **losses.table()}
    assert (tmp_path / "w.svg").exists()
    for place, loss in enumerate(losses, start=1):
        assert mlsched.load(tmp_path / "out" / f"{place}.json") == loss.instance
        assert mlsched.load(tmp_path / "out" / f"{place}.rand.json").sort_key == loss.result.sort_key
        assert mlsched.load(tmp_path / "out" / f"{place}.brute-force.json").sort_key == loss.best.sort_key
    shown = cli(*call).out
    assert "3 worst of 6 instances" in shown
    assert f"{losses[0].name}" in shown


def test_it_takes_files_and_refuses_nothing_at_all(cli, instance_file):
    assert cli("worst", "fitgpp", instance_file, "--best", "brute-force").status == 0
    cli("worst", "rand", instance_file, "--best", "fitgpp").refused("--best: 'fitgpp', expected an exact solver")
    cli("worst", "fitgpp").refused("give instance files, or --problem to draw instances")
    cli("worst", "fitgpp", instance_file, "--problem", "quality").refused("give instance files, or --problem")


def test_an_interrupt_shows_the_worst_so_far(cli, monkeypatch):
    from mlsched.benchmark import worst

    solve, calls = worst.api.solve, []

    def interrupted(*given, **named):
        calls.append(given)
        if len(calls) > 4:
            raise KeyboardInterrupt
        return solve(*given, **named)

    monkeypatch.setattr(worst.api, "solve", interrupted)
    call = ("worst", "rand", "--problem", "preemption", "--preset", "small", "--count", "6", "--best", "brute-force")
    found = cli(*call)
    assert found.status == 130
    assert "worst of 2 instances" in found.out
