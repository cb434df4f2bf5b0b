"""Pages as widgets of a notebook: what they look at can be read and set from Python."""

from __future__ import annotations

from flitloom.ground.extras import need
from flitloom.view.text import FRAME_HEIGHT, PARTS

need("notebook", "a widget")

import anywidget  # noqa: E402
import traitlets  # noqa: E402


class PageWidget(anywidget.AnyWidget):
    """A page in a notebook, in a frame.

    Attributes
    ----------
    cycle : int
        The cycle it shows; setting it moves the page.
    playing : bool
        Whether it plays.
    link : str
        The chosen link, as ``(3,0)+x``; empty where none is.
    height : int
        Height in pixels.
    page : str
        The page itself.
    title : str
        Its title.
    """

    _esm = (PARTS / "widget.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    cycle = traitlets.Int(0, min=0).tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    link = traitlets.Unicode("", read_only=False).tag(sync=True)
    height = traitlets.Int(FRAME_HEIGHT, min=100).tag(sync=True)
