"""What moves, tables and fabrics as one HTML file that opens without a network."""

from __future__ import annotations

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.view.cables import Cables
    from flitloom.view.films import Film, film, film_of
    from flitloom.view.page import LARGEST, write_live_page, write_page
    from flitloom.view.steps import Steps
    from flitloom.view.tables import Loads
    from flitloom.view.widgets import widget
else:
    __getattr__ = names_of(
        __name__,
        {
            "Cables": "cables",
            "Film": "films",
            "film": "films",
            "film_of": "films",
            "LARGEST": "page",
            "write_live_page": "page",
            "write_page": "page",
            "Steps": "steps",
            "Loads": "tables",
            "widget": "widgets",
        },
    )

__all__ = [
    "LARGEST",
    "Cables",
    "Film",
    "Loads",
    "Steps",
    "film",
    "film_of",
    "widget",
    "write_live_page",
    "write_page",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
