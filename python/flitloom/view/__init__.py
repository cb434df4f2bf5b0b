"""Simulations, plans and routing tables as one HTML file that moves, and opens without a network."""

from flitloom.view.film import Film, film, film_of
from flitloom.view.page import LARGEST, widget, write_live_page, write_page
from flitloom.view.tables import Loads

__all__ = ["LARGEST", "Film", "Loads", "film", "film_of", "widget", "write_live_page", "write_page"]
