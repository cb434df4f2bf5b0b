"""What notebooks show: tables of results, and films in a frame."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

#: Characters of a cell; longer texts are cut.
_LONGEST = 200


def fields_html(title: str, fields: Mapping[str, object]) -> str:
    """A small table with a caption; values of None are left out.

    >>> fields_html("a < b", {"duration": 3, "bound": None})
    '<table><caption>a &lt; b</caption><tr><th>duration</th><td>3</td></tr></table>'
    """
    rows = "".join(
        f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(_text(value))}</td></tr>"
        for name, value in fields.items()
        if value is not None
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def frame_html(page: str, height: int) -> str:
    """A whole page inside another one, which it cannot reach."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(page, quote=True)}" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )


def _text(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
