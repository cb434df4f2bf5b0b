"""Pictures: colours anybody can tell apart, titles that say what is shown, axes taken and returned."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import flitloom as fl
from flitloom.collectives.advise import advise
from flitloom.errors import SpecError
from flitloom.plots.collective import draw_advice, draw_busy
from flitloom.plots.curves import plot_curves
from flitloom.plots.genetic import plot_generations, plot_variation
from flitloom.plots.link_time import plot_link_time
from flitloom.plots.style import BLOCKED, BOUND, COLOURS, FAINT
from flitloom.routing import pictures

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


@pytest.mark.parametrize(
    "draw",
    [
        lambda **to: plot_link_time(result(), **to),
        lambda **to: result().plot_link_time(**to),
        lambda **to: (
            draw_busy(fl.collective(fl.Torus(4, 4), "all-gather"), *to.values())
            if "path" in to
            else draw_busy(fl.collective(fl.Torus(4, 4), "all-gather"), **to)
        ),
        lambda **to: plot_generations({"one": ([5.0, 4.0], [7.0, 6.0])}, **to),
        lambda **to: plot_variation({"shfl": [(5.0, 4.0), (6.0, 5.0)]}, **to),
        lambda **to: plot_curves([{"x": 1, "y": 2}, {"x": 2, "y": 3}], "x", "y", **to),
    ],
    ids=["link-time", "result", "busy", "generations", "variation", "curves"],
)
def test_plots_take_axes_and_return_them_or_write_a_file(draw, tmp_path):
    ax = Figure().subplots()
    assert draw(ax=ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    file = tmp_path / "picture.png"
    assert draw(path=file) is not ax
    assert file.stat().st_size > 1000
    with pytest.raises(SpecError, match="either the axes"):
        draw()


def test_titles_name_pattern_shape_and_payload():
    ax = plot_link_time(result(), ax=Figure().subplots())
    assert ax.get_title() == f"shfl on 4x4 torus, 14 payload flits in 2 slices: {result().duration} cycles"


def test_advice_is_drawn_from_one_on():
    ax = draw_advice(
        advise(fl.Torus(4, 4), [1024, 2**20], 1e-6, 5e10), "all-reduce, 4x4 torus", ax=Figure().subplots()
    )
    assert ax.get_ylim()[0] > 0
    curves = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert min(min(line.get_ydata()) for line in curves) >= 1
    assert len({(line.get_color(), line.get_marker()) for line in curves}) == len(curves) > len(COLOURS)


def test_planes_of_tables_lie_in_a_square_and_bars_hold_all_links():
    tables = fl.route(fl.Torus(4, 4, 8), method="bfs")
    assert pictures._extent((4, 4, 8)) == (3 * 4.6, 3 * 4.6)
    ax = Figure().subplots()
    lines = pictures.draw_loads(tables, ax, (2, 10))
    assert len(lines.get_segments()) == 4 * 4 * 8 * 6
    # Links in a plane end where another router is; no two routers lie at one place.
    points = ax.collections[1].get_offsets()
    assert len({tuple(np.round(point, 6)) for point in points}) == 128
    assert lines.get_clim() == (2, 10)


def test_a_few_full_links_do_not_make_all_others_alike():
    tables = fl.route(fl.Torus(8, 8), method="bfs")
    end = pictures._end_of_colours([tables])
    loads = np.array([link[4] for link in tables.links()])
    assert (loads > end).mean() <= 0.02
    assert end <= loads.max()
