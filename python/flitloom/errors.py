"""What can go wrong, as exceptions: one base class, one class per named outcome."""

from __future__ import annotations


class FlitloomError(Exception):
    """Base of every error flitloom raises on purpose; its text is one message for the user."""


class SpecError(FlitloomError, ValueError):
    """A description of a network, its traffic or an output that cannot be right.

    The message says where (the path to the field), what is wrong and what would be right.
    """
