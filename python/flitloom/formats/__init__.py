"""Formats of collective plans and message graphs: one per file, and a list of all in `known.py`."""

from flitloom.formats.asking import (
    check,
    convert,
    format_of,
    is_messages,
    message_endings,
    read_messages,
    read_plan,
    target_format,
    written_endings,
)
from flitloom.formats.format import Format, Writing
from flitloom.formats.known import FORMATS

__all__ = [
    "FORMATS",
    "Format",
    "Writing",
    "check",
    "convert",
    "format_of",
    "is_messages",
    "message_endings",
    "read_messages",
    "read_plan",
    "target_format",
    "written_endings",
]
