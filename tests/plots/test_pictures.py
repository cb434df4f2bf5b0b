"""Pictures: colours anybody can tell apart, titles that say what is shown, axes taken and returned."""

import inspect
import pkgutil
import re
import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import flitloom as fl
from flitloom.collectives.advice import powers, weigh
from flitloom.collectives.pictures import draw_advice
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.fabric import examples
from flitloom.fabric.recognition import recognise
from flitloom.load import run_step
from flitloom.load.pictures import plot_load_curves
from flitloom.plots.curves import plot_curves
from flitloom.plots.link_time import compare_link_time, plot_link_time
from flitloom.plots.space_time import compare_space_time
from flitloom.plots.style import BLOCKED, BOUND, COLOURS, FAINT
from flitloom.tables.by_source import pictures
from pictures import faults

PACKAGE = Path(fl.__file__).parent


def lab(colour, matrix):
    """CIE L*a*b* of a colour as somebody sees it whose cones mix linear light by `matrix`."""
    light = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    light = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in light]
    light = [min(max(sum(m * v for m, v in zip(row, light, strict=True)), 0), 1) for row in matrix]
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = (sum(m * v for m, v in zip(row, light, strict=True)) for row in to_xyz)
    f = lambda t: t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116  # noqa: E731
    x, y, z = f(x / 0.9505), f(y), f(z / 1.089)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


# Machado, Oliveira and Fernandes 2009, full severity.
VISIONS = {
    "usual": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900],
    ],
}  # fmt: skip
LEGENDS = {
    "curves": COLOURS,
    "slices": (*COLOURS[:6], BLOCKED),
    "loads": (COLOURS[0], BOUND, FAINT),
}


@pytest.mark.parametrize("legend", LEGENDS)
@pytest.mark.parametrize("vision", VISIONS)
def test_colours_of_a_legend_can_be_told_apart(vision, legend):
    seen = [lab(colour, VISIONS[vision]) for colour in LEGENDS[legend]]
    distances = [
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        for number, one in enumerate(seen)
        for other in seen[:number]
    ]
    # 2.3 is the least difference that is noticed at all.
    assert min(distances) > 10


def test_no_picture_has_colours_of_its_own():
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "matplotlib" in text or "plots.canvas" in text:
            named = re.findall(
                r'colou?r="(?:red|green|blue|tab:[a-z]+|C[0-9])"|["\'](?:#[0-9a-f]{6})["\']', text
            )
            assert not named or file.name == "style.py", f"{file.name}: {named}"


def result():
    return fl.simulate(
        fl.Network(fl.Torus(4, 4)), fl.Collective("shfl", payload=14, slices=2), link_time=True
    )


def network():
    return fl.Network(fl.Torus(4, 4))


def tables():
    return [fl.tables.make(fl.Torus(4, 4), method=method) for method in ("bfs", "sssp")]


def stackings():
    curves = [("all", fl.stack(network(), fl.Collective("shfl", payload=14, slices=2)))]
    return {"shfl": curves, "again": curves}


def points():
    return [
        {"rate": rate, "latency": 10 * rate + 5, "confidence": 0.5, "accepted": rate}
        for rate in (0.1, 0.2, 0.3)
    ]


def step():
    load = fl.Load("rand", rate=0.3, length=4, cycles=400)
    return run_step(fl.Experiment(topology=fl.Torus(4, 4), traffic=load), window=20)


def fabric():
    return recognise(examples.torus((4, 4), cables=1))


def busy():
    from flitloom.run.space_time import record_space_time

    simulation = fl.Simulation(network(), fl.Collective("bcmp", packets=4))
    return record_space_time(simulation)


def placed():
    from flitloom.placing import axes_traffic, parse_axes, place

    return (place(fl.Torus(4, 4), axes_traffic(parse_axes("data=4:ring:8,expert=4:a2a:1"))),)


#: Every function that draws, with what it draws and the number of axes that it draws in.
DRAW = {
    "collectives.pictures.draw_busy": (lambda: (fl.collectives.plan(fl.Torus(4, 4), "all-gather"),), 1),
    "collectives.pictures.draw_advice": (
        lambda: (weigh(fl.Torus(4, 4), [1024, 2**20], 1e-6, 5e10), "all-reduce, 4x4 torus"),
        1,
    ),
    "plots.curves.plot_curves": (lambda: ([{"x": 1, "y": 2}, {"x": 2, "y": 3}], "x", "y"), 1),
    "plots.genetic.plot_generations": (lambda: ({"one": ([5.0, 4.0], [7.0, 6.0])},), 1),
    "plots.genetic.plot_variation": (lambda: ({"shfl": [(5.0, 4.0), (6.0, 5.0)]},), 1),
    "plots.link_time.plot_link_time": (lambda: (result(),), 1),
    "plots.link_time.compare_link_time": (lambda: ([("one", result()), ("two", result())],), 2),
    "load.pictures.plot_load_curves": (lambda: ({"do": points(), "sa": points()},), 2),
    "load.pictures.plot_series": (lambda: ({"do": step().series},), 3),
    "load.pictures.plot_responses": (lambda: ("step", {"do": step()}), 3),
    "placing.pictures.draw_placement": (placed, 2),
    "plots.space_time.plot_space_time": (lambda: (busy(),), 1),
    "plots.space_time.compare_space_time": (lambda: ([("a", busy()), ("b", busy())],), 2),
    "scheduling.pictures.plot_stackings": (lambda: (stackings(),), 2),
    "tables.by_source.pictures.draw_comparison": (lambda: (tables(),), 6),
    "fabric.pictures.draw_fabric": (lambda: (fabric(),), 1),
    "fabric.pictures.draw_network": (lambda: ("dragonfly(4,2)",), 1),
}


def drawing_functions():
    """All functions of the package that draw to a file."""
    import flitloom.plots

    names = [module.name for module in pkgutil.iter_modules(flitloom.plots.__path__, "plots.")]
    root = Path(fl.__file__).parent
    found = (file.relative_to(root).with_suffix("").parts for file in root.glob("*/**/pictures.py"))
    for name in (*names, *(".".join(parts) for parts in found if parts[0] != "commands")):
        module = import_module(f"flitloom.{name}")
        for function, value in vars(module).items():
            public = inspect.isfunction(value) and value.__module__ == module.__name__
            if public and re.match("plot_|draw_|compare_", function):
                yield f"{name}.{function}"


def test_every_function_that_draws_is_listed():
    assert set(drawing_functions()) == set(DRAW)


@pytest.mark.parametrize("name", DRAW)
def test_plots_take_axes_and_return_them_or_write_a_file(name, tmp_path):
    module, _, function = name.rpartition(".")
    draw = getattr(import_module(f"flitloom.{module}"), function)
    make, count = DRAW[name]
    data = make()
    axes = list(Figure(figsize=(6 * count, 5)).subplots(1, count, squeeze=False).ravel())
    given = axes[0] if count == 1 and name != "scheduling.pictures.plot_stackings" else axes
    returned = draw(*data, ax=given)
    assert returned is given or returned == axes
    assert all(one.has_data() or one.collections or one.images for one in axes)
    file = tmp_path / "picture.png"
    returned = draw(*data, path=file)
    assert len(np.ravel(np.asarray(returned, dtype=object))) == count
    assert file.stat().st_size > 1000
    with pytest.raises(SpecError, match="either the axes"):
        draw(*data)
    if count > 1:
        with pytest.raises(SpecError, match=f"1 axes are given, and {count} are drawn in"):
            draw(*data, ax=axes[:1])


def test_results_draw_into_axes_too():
    ax = Figure().subplots()
    assert result().plot_link_time(ax=ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()


def test_titles_name_pattern_shape_and_payload():
    ax = plot_link_time(result(), ax=Figure().subplots())
    assert ax.get_title() == f"shfl on 4x4 torus, 14 payload flits in 2 slices: {result().duration} cycles"


def test_advice_is_drawn_from_one_on():
    ax = draw_advice(
        weigh(fl.Torus(8, 8), powers(1, 2**30), 1e-6, 5e10), "all-reduce, 8x8 torus", ax=Figure().subplots()
    )
    assert ax.get_ylim()[0] > 0
    curves = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert min(min(line.get_ydata()) for line in curves) >= 1
    assert len({(line.get_color(), line.get_marker()) for line in curves}) == len(curves) > len(COLOURS)


def test_planes_of_tables_lie_in_a_square_and_bars_hold_all_links():
    tables = fl.tables.make(fl.Torus(4, 4, 8), method="bfs")
    assert pictures._extent((4, 4, 8)) == (3 * 4.6, 3 * 4.6)
    ax = pictures.draw_comparison([tables], ax=Figure().subplots(3))[0]
    lines = ax.collections[0]
    assert len(lines.get_segments()) == 4 * 4 * 8 * 6
    # Links in a plane end where another router is; no two routers lie at one place.
    points = ax.collections[1].get_offsets()
    assert len({tuple(np.round(point, 6)) for point in points}) == 128
    assert lines.get_clim() == (tables.min_load, pictures._end_of_colours([tables]))


def test_a_few_full_links_do_not_make_all_others_alike():
    tables = fl.tables.make(fl.Torus(8, 8), method="bfs")
    end = pictures._end_of_colours([tables])
    loads = np.array([link[4] for link in tables.links()])
    assert (loads > end).mean() <= 0.02
    assert end <= loads.max()


def test_what_is_wrong_with_a_picture_is_seen():
    figure = Figure(figsize=(3, 2), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1, 2], [0, 1, 2])
    assert faults(figure) == []
    axes.set_yscale("log")
    assert any("is logarithmic and has a zero" in fault for fault in faults(figure))
    axes.set_yscale("linear")
    axes.scatter([0, 2], [1, 3])
    axes.set_xscale("log")
    assert any("x of '' is logarithmic" in fault for fault in faults(figure))
    axes.set_xscale("linear")
    axes.set_xticks(np.arange(0, 2, 0.1), [f"a long label {number}" for number in range(20)])
    assert any("collides with x tick" in fault for fault in faults(figure))
    axes.set_xticks([0, 1, 2])
    axes.set_title("a title that is much wider than the picture it stands over, so that its ends are cut")
    assert any("leaves the canvas" in fault for fault in faults(figure))
    # Wide enough as it is, too narrow when it is smaller.
    axes.set_title("x" * 30)
    figure.set_size_inches(3.4, 2)
    assert {fault.partition(":")[0] for fault in faults(figure)} <= {"at size 0.8"}


GALLERY = re.findall(
    r"^```sh\n(.*?)^```",
    (PACKAGE.parents[1] / "docs" / "gallery.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize("block", [block for block in GALLERY if ".png" in block])
def test_pictures_of_the_gallery_are_without_faults(block, tmp_path, monkeypatch, pictures_are_looked_at):
    monkeypatch.chdir(tmp_path)
    for line in block.replace("\\\n", " ").splitlines():
        assert run(shlex.split(line)[1:]) == 0
    # The fixture fails where one of them has a fault.
    assert len(pictures_are_looked_at) == block.count(".png")


def test_large_pictures_can_be_read(tmp_path, pictures_are_looked_at):
    """Loads of 8x8x8 and what 1024 links do."""
    loaded = ["route", "--torus", "8x8x8", "--method", "bfs", "--picture", str(tmp_path / "loads.png")]
    assert run(loaded) == 0
    links = ["--torus", "16x16", "--pattern", "bcmp", "--payload", "28", "--slices", "4", "--interval", "60"]
    assert run(["simulate", *links, "--picture", str(tmp_path / "links.png")]) == 0
    (loads, _), (chart, _) = pictures_are_looked_at
    # Every link of a plane is wider than a dot, and every link has a dot of its own in the chart.
    planes = loads.axes[0]
    step = planes.transData.transform([(0, 0), (1, 0)])
    assert (step[1] - step[0])[0] * 150 / loads.dpi >= 12
    image = chart.axes[0].images[0]
    assert image.get_array().shape[1] == 1024
    assert chart.axes[0].get_window_extent().width * 150 / chart.dpi >= 1024


def test_whole_packets_are_no_slices():
    whole = fl.simulate(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl"), link_time=True)
    names = [
        [text.get_text() for text in plot_link_time(one, ax=Figure().subplots()).get_legend().get_texts()]
        for one in (whole, result())
    ]
    assert names == [["busy", "blocked"], ["slice 1", "slice 2", "blocked"]]


def test_failed_parts_are_marked_and_named():
    broken = fl.Torus(4, 4, failed_nodes=[5], failed_links=[(0, 1), (3, 0)])
    [ax, *_] = pictures.draw_comparison([fl.tables.make(broken)], ax=Figure().subplots(3))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["failed"]
    [marks] = [one for one in ax.collections if one.get_label() == "failed"]
    # The node, the middle of a cable, and a cable round the rim beside its first node.
    assert sorted(map(tuple, np.round(marks.get_offsets(), 2).tolist())) == [(0.5, 0), (1, 1), (3.3, 0)]
    [whole, *_] = pictures.draw_comparison([fl.tables.make(fl.Torus(4, 4))], ax=Figure().subplots(3))
    assert whole.get_legend() is None


def test_charts_that_are_compared_stand_below_each_other(tmp_path):
    for drawn in (
        compare_link_time([("one", result()), ("two", result())], tmp_path / "links.png"),
        compare_space_time([("one", busy()), ("two", busy())], tmp_path / "buffers.png"),
    ):
        upper, lower = (axes.get_position() for axes in drawn)
        assert (upper.x0, upper.width) == pytest.approx((lower.x0, lower.width), abs=0.02)
        assert upper.y0 > lower.y1
        # In a column of 736 pixels text of ten points stays readable up to some ten inches.
        assert drawn[0].get_figure().get_figwidth() <= 11


def test_times_far_from_zero_are_written_out(tmp_path):
    late = busy()
    late = late.assign_coords(cycle=late.cycle + 1_220_000)
    [axes] = compare_space_time([("late", late)], tmp_path / "late.png")
    assert axes.yaxis.get_offset_text().get_text() == ""
    assert axes.get_title() == "late\nrow y=1, column x=1"


def test_curves_end_at_the_first_saturated_load_beside_the_bound():
    steady = {"latency": 20.0, "accepted": 0.1, "confidence": 1.0, "bound": 0.25, "bound_of": "links"}
    rows = [{**steady, "rate": 0.1}, {**steady, "rate": 0.3, "latency": None}]
    latency, accepted = plot_load_curves({"do": rows}, ax=Figure().subplots(1, 2))
    assert latency.lines[0].get_xdata().tolist() == [0.1]
    [band] = latency.patches
    assert [band.get_x(), band.get_x() + band.get_width()] == [0.1, 0.3]
    assert [line.get_xdata()[0] for line in latency.lines if line.get_linestyle() == ":"] == [0.25]
    assert [line.get_ydata()[0] for line in accepted.lines if line.get_linestyle() == ":"] == [0.25]
    # What bands and lines mean is said.
    assert legend(latency) == ["bound", "do"]
    assert legend(accepted) == ["accepted = offered", "bound: links", "saturates between\n0.1 and 0.3"]
    _, accepted = plot_load_curves({"do": rows}, judge="BookSim2", ax=Figure().subplots(1, 2))
    assert legend(accepted)[-1] == "BookSim2: becomes unstable between\n0.1 and 0.3"


def legend(axes):
    return [text.get_text() for text in axes.get_legend().texts]


def test_bands_of_saturation_say_whose_they_are():
    def rows(last, rates=(0.1, 0.2, 0.3)):
        point = {"accepted": 0.1, "accepted_confidence": 0.01, "confidence": 1.0}
        return [{**point, "rate": rate, "latency": 9.0 if rate <= last else None} for rate in rates]

    curves = {"none": rows(0.1), "alo": rows(0.1), "pt": rows(0.2), "pace": rows(0.3)}
    latency, accepted = plot_load_curves(curves, ax=Figure().subplots(1, 2))
    # One band for curves that share it, in a colour of its own only where it is of one curve.
    for axes in (latency, accepted):
        assert [(band.get_x(), band.get_x() + band.get_width()) for band in axes.patches] == [
            (0.1, 0.2), (0.2, 0.3),
        ]  # fmt: skip
        assert [band.get_facecolor()[:3] for band in axes.patches] == [
            to_rgb(each) for each in (FAINT, COLOURS[2])
        ]
    assert [" ".join(text.split()) for text in legend(accepted)] == [
        "accepted = offered",
        "saturates between 0.1 and 0.2: none, alo",
        "saturates between 0.2 and 0.3: pt",
        "95 % interval",
    ]
    many = {str(first): rows(first, (first, first + 1)) for first in range(1, 7)}
    _, accepted = plot_load_curves(many, ax=Figure().subplots(1, 2))
    assert legend(accepted)[1:] == ["saturation: last steady to first growing load", "95 % interval"]


def test_bands_of_seeds_are_explained_where_there_are_some():
    one = [{"rate": rate, "seed": 1, "accepted": rate} for rate in (0.1, 0.2)]
    other = [{**row, "seed": 2, "accepted": 0.9 * row["accepted"]} for row in one]
    for rows, words in ((one, []), (one + other, ["band: least to largest of the seeds"])):
        axes = plot_curves(rows, "rate", "accepted", ax=Figure().subplots())
        assert [text.get_text() for text in axes.texts] == words


@pytest.mark.parametrize("bound", [0.125, 0.2, 0.26])
def test_the_legend_of_accepted_loads_stands_where_the_offered_load_does_not_cross_it(bound):
    steady = {"latency": 20.0, "confidence": 1.0, "bound": bound, "bound_of": "links in dimension order"}
    rows = [{**steady, "rate": rate, "accepted": min(rate, bound)} for rate in (0.1, 0.27)]
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    _, accepted = plot_load_curves({"do": rows}, ax=figure.subplots(1, 2))
    figure.draw_without_rendering()
    names = accepted.get_legend().texts
    assert names[1].get_text() == "bound: links in dimension order"
    crossing = accepted.transData.transform([(load, load) for load in np.linspace(0, 0.27, 500)])
    assert not any(name.get_window_extent().contains(*point) for name in names for point in crossing)
