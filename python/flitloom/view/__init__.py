"""Simulations, plans, tables, placements and fabrics as one HTML file that opens without a network."""

from flitloom.view.cables import Cables
from flitloom.view.film import Film, film, film_of
from flitloom.view.page import LARGEST, widget, write_live_page, write_page
from flitloom.view.seats import Seats, seats_of
from flitloom.view.steps import Steps
from flitloom.view.tables import Loads

__all__ = [
    "LARGEST",
    "Cables",
    "Film",
    "Loads",
    "Seats",
    "Steps",
    "film",
    "film_of",
    "seats_of",
    "widget",
    "write_live_page",
    "write_page",
]
