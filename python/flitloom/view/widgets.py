"""Pages as widgets of a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flitloom.view.text import Part, page_text

if TYPE_CHECKING:
    from flitloom.view.frame import PageWidget


def widget(*shown: Part, title: str | None = None, **traits: Any) -> PageWidget:
    """Show films, or tables, side by side as a widget of a notebook.

    Needs the extra ``flitloom[notebook]``.

    Parameters
    ----------
    *shown : Film, Steps, Loads, Seats or Cables
        What it shows, as for `flitloom.view.write_page`.
    title : str, optional
        Its title; by default that of the first.
    **traits
        Where it begins, as `cycle`, and its `height`.

    Raises
    ------
    MissingExtraError
        anywidget is not installed.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.view import film, widget
    >>> network = fl.Network(fl.Torus(4, 4))
    >>> shown = widget(film(network, fl.Collective("shfl")), cycle=5)
    >>> shown.cycle, shown.title
    (5, 'shfl on 4x4 torus, 7 payload flits')
    """
    from flitloom.view.frame import PageWidget

    return PageWidget(page=page_text(shown, title), title=title or shown[0].title, **traits)
