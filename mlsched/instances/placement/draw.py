"""A picture of a placement plan: which tasks every server hosts, new and running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.instances.placement.instance import Instance, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most servers in one picture; servers that host tasks come first.
MOST_SERVERS = 30


def draw(instance: Instance, plan: Plan, axes: Axes) -> None:
    """Draw one stack of tasks per server, a colour per job: workers plain, PSs hatched, running jobs in grey."""
    from matplotlib import colormaps

    colours = colormaps["tab20"]
    busy = (plan.workers + plan.ps).sum(axis=0) + (instance.run_workers + instance.run_ps).sum(axis=0)
    count = len(instance.server_free)
    servers = sorted(sorted(range(count), key=lambda s: (busy[s] == 0, s))[:MOST_SERVERS])
    names = [f"job {j} ({instance.types[int(kind)]})" for j, kind in enumerate(instance.job_type)]
    labelled: set[str] = set()

    def stack(x: int, level: int, name: str, workers: int, ps: int, colour: Any) -> int:
        for number, hatch in ((workers, ""), (ps, "//")):
            if number:
                label = None if name in labelled else name
                labelled.add(name)
                axes.bar(
                    x,
                    number,
                    bottom=level,
                    width=0.8,
                    color=colour,
                    hatch=hatch,
                    edgecolor="white",
                    linewidth=0.4,
                    label=label,
                )
                level += number
        return level

    for x, s in enumerate(servers):
        level = 0
        for i in range(len(instance.run_type)):
            grey = 0.55 + 0.3 * (i % 4) / 4
            level = stack(x, level, "running", int(instance.run_workers[i, s]), int(instance.run_ps[i, s]), (grey,) * 3)
        for j, name in enumerate(names):
            colour = colours(2 * j % 20 + j // 10 % 2)  # the ten dark colours first
            level = stack(x, level, name, int(plan.workers[j, s]), int(plan.ps[j, s]), colour)
    waiting = int((~plan.workers.any(axis=1)).sum())
    axes.set(xlabel="server", ylabel="tasks (PSs hatched)", title=f"jobs that wait: {waiting or 'none'}")
    axes.set_xticks(range(len(servers)), [str(s) for s in servers])
    axes.locator_params(axis="y", integer=True)
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    if labelled:
        handle_of = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        legend = {name: handle_of[name] for name in ("running", *names) if name in handle_of}
        axes.legend(legend.values(), legend.keys(), loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
