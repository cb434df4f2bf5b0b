"""One HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flitloom._core import LISTS
from flitloom.errors import FlitloomError, SpecError
from flitloom.ground.outputs import check_output, write_text
from flitloom.spec import PATTERNS, SCHEMES
from flitloom.spec.router import ROUTINGS
from flitloom.view.films import Film
from flitloom.view.steps import Steps
from flitloom.view.text import ENGINE, PARTS, Part, page_text

#: Largest page, in bytes.
LARGEST = 3_000_000


def write_page(shown: Sequence[Part], file: str | Path, title: str | None = None) -> None:
    """Write a page that shows films, or tables, side by side.

    Parameters
    ----------
    shown : sequence of Film, Steps, Loads, Seats or Cables
        What it shows, all of one kind.
    file : path
        The page (.html).
    title : str, optional
        Its title; by default that of the first.

    Raises
    ------
    SpecError
        The page would have more than 3 MB, or cannot be written.
    """
    check_output(file, (".html",), "--html")
    text = page_text(shown, title)
    if len(text) > LARGEST:
        most = largest_window(shown)
        advice = (
            f"its beginning fits: --stop-at {most} of flitloom view"
            if most
            else "show a smaller network, or fewer cycles"
        )
        raise SpecError(
            f"{file}: the page would have {len(text) / 1e6:.1f} MB, and {LARGEST / 1e6:g} MB are allowed; "
            f"{advice}"
        )
    write_text(file, text)


def largest_window(shown: Sequence[Part]) -> int:
    """Cycles or steps from the first one on that fit into a page, to one in a hundred; 0 if none do."""
    moving = [part for part in shown if isinstance(part, Film | Steps)]
    if not moving or len(moving) < len(shown):
        return 0
    low, high = 0, max(part.length for part in moving)
    small, large = len(page_text([part.cut(1) for part in moving])), len(page_text(moving))
    # A run that is stopped knows a little more of its packets than one that is cut.
    room = LARGEST - (LARGEST // 200 if isinstance(moving[0], Film) else 0)
    while high - low > max(1, low // 100) and small < room:
        share = (room - small) / max(large - small, 1)
        middle = min(max(round(low + share * (high - low)), low + 1), high - 1)
        size = len(page_text([part.cut(middle) for part in moving]))
        # The estimate is good: the other end comes near as well.
        if size > room:
            high, large = middle, size
            near = low + 99 * (high - low) // 100
        else:
            low, small = middle, size
            near = low + -(-(high - low) // 100)
        if low < near < high:
            size = len(page_text([part.cut(near) for part in moving]))
            if size > room:
                high, large = near, size
            else:
                low, small = near, size
    return low


def write_live_page(file: str | Path) -> None:
    """Write a page with the engine inside, which simulates what its reader asks for.

    Raises
    ------
    FlitloomError
        The engine was not built for pages.
    SpecError
        The page cannot be written.
    """
    check_output(file, (".html",), "--live")
    if not ENGINE.exists():
        raise FlitloomError("this installation has no engine for pages; in a clone, make wasm builds it")
    form = (PARTS / "live.html").read_text(encoding="utf-8")
    choices = {
        "PATTERNS": PATTERNS,
        "SCHEMES": SCHEMES,
        "ROUTINGS": ROUTINGS,
        "TIES": LISTS["tie_rules"],
        "THROTTLES": LISTS["throttles"],
    }
    for name, options in choices.items():
        form = form.replace(f"@{name}@", "".join(f"<option>{option}</option>" for option in options))
    for usual in ("shfl", "wrap"):
        form = form.replace(f"<option>{usual}", f"<option selected>{usual}")
    write_text(file, page_text([], "flitloom live", form))
