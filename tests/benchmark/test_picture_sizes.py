"""Pictures at the width of a column and of a page: measured on what is drawn, not compared with pictures."""

from __future__ import annotations

import functools
import itertools
import re

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest
from draws import draws
from preemption_examples import small

import mlsched
from mlsched.benchmark import plots
from mlsched.core.errors import InvalidInput

mpl.use("Agg")
WIDTHS = ("column", "page")
#: Units of time as titles and axes name them.
UNITS = ("ticks", "seconds", "minutes", "hours", "days", "ms", "[s]")
#: Points that two texts may share, of what the renderer calls their boxes.
SLACK = 1.5


@pytest.fixture(autouse=True)
def closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def graph(name: str) -> nx.DiGraph:
    job = nx.DiGraph(name=name)
    for task, ticks in {"load": 4, "a long name": 1, "train": 9, "compare": 2}.items():
        job.add_node(task, duration=ticks, demand={"gpu": 1})
    job.add_edges_from([("load", "a long name"), ("a long name", "train"), ("train", "compare")])
    return job


@pytest.fixture(scope="module")
def things():
    on_gpus = mlsched.from_networkx([graph("a"), graph("b"), graph("c")], [{"gpu": 2}, {"gpu": 1}], tick_ms=60_000)
    work = mlsched.workload("synthetic:gangs", jobs=30)
    other = mlsched.workload("synthetic:chic", jobs=12, rate=2.7)
    instances = [mlsched.generate("taskgraph", "small", seed=seed) for seed in range(2)]
    return {
        "gantt": mlsched.solve(on_gpus, "cp-sat", objective="makespan"),
        "preemption": mlsched.solve(mlsched.generate("preemption", "surge", seed=21), "cp-sat"),
        "workers": mlsched.solve(mlsched.generate("workers", "paper", seed=0), "optimus"),
        "placement": mlsched.solve(mlsched.generate("placement", "6x3", seed=0), "tetris"),
        "quality": mlsched.solve(mlsched.generate("quality", "small", seed=1), "slaq"),
        "run": mlsched.simulate(work, "fifo"),
        "runs": [mlsched.simulate(work, rule) for rule in ("fifo", "tiresias", "fair")],
        "runs of samples": [mlsched.simulate(other, rule) for rule in ("optimus", "fair", "srpt")],
        "front": mlsched.pareto(mlsched.generate("quality", *draws(("small", 12), ("contended", 1)))),
        "losses": mlsched.worst_cases("fifo", instances, most=1),
    }


NAMES = ("gantt", "preemption", "workers", "placement", "quality", "run", "runs", "runs of samples", "front", "losses")


@pytest.fixture(scope="module")
def drawn(things):
    """The figure of a thing at a width, as it was drawn: once, since the tests only look at it."""

    @functools.cache
    def draw(name, width):
        axes = mlsched.plot(things[name], width=width)
        figure = (axes[0] if isinstance(axes, list) else axes).figure
        figure.canvas.draw()
        return figure

    return draw


def all_texts(figure):
    """Every text that is seen, ticks and legends among them."""
    for ax in figure.axes:
        if not ax.get_visible():
            continue
        ticks = [*ax.get_xticklabels(which="both"), *ax.get_yticklabels(which="both")]
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts, *ticks):
            if text.get_visible() and text.get_text():
                yield text
    for legend in figure.legends:
        yield from legend.get_texts()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_has_its_size_on_paper_and_text_of_seven_points(drawn, name, width):
    figure = drawn(name, width)
    assert figure.get_figwidth() <= plots.inches(width) + 1e-9
    sizes = {text.get_text(): text.get_fontsize() for text in all_texts(figure)}
    assert sizes
    assert {text: size for text, size in sizes.items() if size < plots.SMALL} == {}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_titles_legends_and_labels_lie_within_the_picture_and_not_on_each_other(drawn, name, width):
    figure = drawn(name, width)
    scale = 72 / figure.dpi
    wide, high = figure.get_size_inches() * 72
    boxes = []
    for ax in figure.axes:
        if ax.get_visible():
            boxes += [
                (text.get_text(), text.get_window_extent()) for text in (ax.title, ax.xaxis.label, ax.yaxis.label)
            ]
            boxes += [(text.get_text(), text.get_window_extent()) for text in ax.texts]
    boxes += [("the legend", legend.get_window_extent()) for legend in figure.legends]
    boxes = [(text, box) for text, box in boxes if text]
    for text, box in boxes:
        assert -SLACK <= box.x0 * scale <= box.x1 * scale <= wide + SLACK, text
        assert -SLACK <= box.y0 * scale <= box.y1 * scale <= high + SLACK, text
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        up = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(across, up) * scale <= SLACK, f"{one!r} lies on {other!r}"


@pytest.mark.parametrize("name", NAMES)
def test_a_legend_is_there_once_and_every_name_once(drawn, name):
    figure = drawn(name, "page")
    assert len(figure.legends) + sum(ax.get_legend() is not None for ax in figure.axes) <= 1
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", NAMES)
def test_times_have_one_unit_and_min_never_means_less(drawn, name):
    figure = drawn(name, "page")
    said = " ".join([*(ax.get_title() for ax in figure.axes), *(ax.get_xlabel() for ax in figure.axes)])
    units = {unit for unit in UNITS if re.search(rf"(?<!\w){re.escape(unit)}(?!\w)", said)}
    assert len(units) <= 1, said
    assert "(min)" not in " ".join(text.get_text() for text in all_texts(figure))


def test_lines_of_one_panel_have_colours_dashes_and_widths_of_their_own():
    for count in (2, 3, 7, 12):
        styles = [plots.style(index, count) for index in range(count)]
        assert len({(s["color"], s["linestyle"]) for s in styles}) == count
        dashes = [s["linestyle"] for s in styles]
        assert all(a != b for a, b in itertools.pairwise(dashes)), "neighbours are told apart without colour"
        widths = [s["linewidth"] for s in styles]
        assert widths == sorted(widths, reverse=True), "what is drawn later leaves what is below it seen"


def test_lines_that_coincide_have_one_label_and_others_their_own():
    made, (ax,) = plots.figure(3.3, 2.3)
    x = np.linspace(0, 10, 50)
    ax.plot(x, x, label="first")
    ax.plot(x, x, label="second")
    ax.plot(x, 10 - x / 2, label="third")
    made.draw_without_rendering()
    plots.direct_labels(ax)
    assert {text.get_text() for text in ax.texts} == {"first = second", "third"}


def test_a_label_that_finds_no_place_is_left_to_the_legend():
    made, (ax,) = plots.figure(3.3, 2.3)
    x = np.linspace(0, 10, 400)
    for k in range(3):
        ax.plot(x, np.sin(9 * x + k), label=f"a long name of number {k}")
    made.draw_without_rendering()
    plots.direct_labels(ax)
    assert not ax.texts


def test_the_rows_of_a_node_with_gpus_are_its_gpus(drawn):
    (ax,) = (ax for ax in drawn("gantt", "column").axes if ax.get_visible())
    assert [label.get_text() for label in ax.get_yticklabels(minor=True)] == ["GPU 0", "GPU 1"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["node 0", "node 1"]


def test_a_bar_too_short_for_its_label_has_it_beside_where_there_is_room():
    job = nx.DiGraph(name="job")
    job.add_node("short", duration=1, demand={"gpu": 1})
    job.add_node("long", duration=40, demand={"gpu": 1})
    result = mlsched.solve(mlsched.from_networkx(job, [{"gpu": 1}, {"gpu": 1}]), "cp-sat", objective="makespan")
    axes = mlsched.plot(result, width="column")
    axes.figure.canvas.draw()
    place = {text.get_text(): text for text in axes.texts}
    bars = sorted((bar.get_width(), bar.get_x() + bar.get_width()) for bar in axes.patches)
    assert place["short"].xy[0] == pytest.approx(bars[0][1]), "it begins where the bar ends"
    inside = place["long"].get_window_extent()
    longest = max((bar for bar in axes.patches), key=lambda bar: bar.get_width()).get_window_extent()
    assert longest.x0 <= inside.x0 <= inside.x1 <= longest.x1


def test_nodes_that_do_not_fit_are_counted(drawn):
    ax = drawn("preemption", "column").axes[0]
    assert re.search(r"; \d of\s8\snodes", ax.get_title().replace("\n", " "))


@pytest.mark.parametrize("width", [0, 1.5, 41, "wide", True, None])
def test_a_width_that_is_none_is_refused(width):
    with pytest.raises(InvalidInput, match=r"width: .*, expected 'column' \(3.3 inches\), 'page' \(6.9\) or 2 to 40"):
        mlsched.plot(mlsched.solve(small(), "fitgpp"), width=width)


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (5, "plot: an int cannot be drawn; give a plan"),
        ([5], "plot: the list contains an int; give a plan"),
        ([], "plot: the list contains nothing"),
        ({}, "plot: the list contains nothing"),
    ],
)
def test_what_has_no_picture(thing, said):
    with pytest.raises(InvalidInput, match=said):
        mlsched.plot(thing)


def test_files_have_no_white_ground_and_turn_on_a_dark_one(things, tmp_path):
    mlsched.plot(things["front"], path=tmp_path / "front.svg")
    text = (tmp_path / "front.svg").read_text()
    assert "prefers-color-scheme: dark" in text
    grounds = re.findall(r'<g id="patch_\d">\s*<path d="[^"]*"\s*style="([^"]*)"', text)
    assert grounds
    assert all("opacity: 0" in style for style in grounds if "fill: #ffffff" in style)
    mlsched.plot(things["front"], path=tmp_path / "front.png", width="column")
    from matplotlib.image import imread

    assert imread(tmp_path / "front.png").shape[1] == pytest.approx(3.3 * 300, abs=2)
