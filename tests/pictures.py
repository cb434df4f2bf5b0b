"""What can be seen of a picture by machine: texts that collide or leave the canvas, log axes with a zero."""

from itertools import combinations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from sample import sampled

#: Sizes at which every picture is looked at, relative to its own; the smaller one is the harder one.
SIZES = sampled((0.8, 1.0), 2)
#: Pixels by which texts may touch each other, or the rim.
SLACK = 1.5


def faults(figure):
    """What is wrong with a picture, at all sizes."""
    width, height = figure.get_size_inches()
    found = []
    try:
        for size in SIZES:
            figure.set_size_inches(size * width, size * height)
            figure.draw_without_rendering()
            found += [f"at size {size:g}: {fault}" for fault in _faults(figure)]
    finally:
        figure.set_size_inches(width, height)
    return found


def _faults(figure):
    canvas = figure.bbox
    texts = list(_texts(figure))
    for name, text, box in texts:
        if not (
            canvas.x0 - SLACK <= box.x0
            and box.x1 <= canvas.x1 + SLACK
            and canvas.y0 - SLACK <= box.y0
            and box.y1 <= canvas.y1 + SLACK
        ):
            yield f"{name} {text!r} leaves the canvas"
    for (name, text, box), (other, words, beside) in combinations(texts, 2):
        shared = Bbox.intersection(box, beside)
        if shared is not None and shared.width > SLACK and shared.height > SLACK:
            yield f"{name} {text!r} collides with {other} {words!r}"
    for axes in figure.axes:
        for letter, scale in (("x", axes.get_xscale()), ("y", axes.get_yscale())):
            if scale == "log" and any(np.any(values <= 0) for values in _data(axes, letter)):
                yield f"{letter} of {axes.get_title()!r} is logarithmic and has a zero"


def _texts(figure):
    """Texts that are shown, with what they are and where."""
    renderer = figure._get_renderer()
    if figure._suptitle is not None:
        yield _placed("title", figure._suptitle, renderer)
    for number, axes in enumerate(figure.axes):
        if not axes.get_visible():
            continue
        yield from (
            _placed(f"title of {number}", text, renderer)
            for text in (axes.title, axes._left_title, axes._right_title)
            if text.get_text()
        )
        if not axes.axison:
            continue
        for letter, axis, span in (
            ("x", axes.xaxis, sorted(axes.get_xlim())),
            ("y", axes.yaxis, sorted(axes.get_ylim())),
        ):
            if not axis.get_visible():
                continue
            if axis.label.get_text():
                yield _placed(f"{letter} label of {number}", axis.label, renderer)
            shown = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            for tick in shown:
                for label in (tick.label1, tick.label2):
                    inside = span[0] - 1e-9 <= tick.get_loc() <= span[1] + 1e-9
                    if tick.get_visible() and label.get_visible() and label.get_text() and inside:
                        yield _placed(f"{letter} tick of {number}", label, renderer)
    for legend in (*figure.legends, *(axes.get_legend() for axes in figure.axes)):
        if legend is not None and legend.get_visible():
            yield from (_placed("legend", text, renderer) for text in legend.get_texts() if text.get_text())


def _placed(name, text, renderer):
    return name, text.get_text(), text.get_window_extent(renderer)


def _data(axes, letter):
    for line in axes.lines:
        # Lines across the axes are no data.
        if line.get_transform() == axes.transData:
            values = line.get_xdata() if letter == "x" else line.get_ydata()
            yield np.asarray(values, dtype=float)
    for points in axes.collections:
        offsets = np.asarray(points.get_offsets(), dtype=float)
        if len(offsets) and points.get_offset_transform() == axes.transData:
            yield offsets[:, "xy".index(letter)]


def looked_at(savefig, seen):
    """`savefig` of figures, which are looked at first."""

    def look(self: Figure, *args, **options):
        found = faults(self)
        seen.append((self, found))
        return savefig(self, *args, **options)

    return look
