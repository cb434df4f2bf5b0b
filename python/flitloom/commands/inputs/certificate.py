"""A certificate, which an independent program verifies."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.inputs.input import Input
from flitloom.ground.limits import TABLE_BYTES
from flitloom.ground.reading import opened

#: Bytes that hold the beginning of any certificate.
HEAD = 256


def sniff(file: Path) -> bool:
    """Whether a file is a certificate."""
    with opened(file, TABLE_BYTES) as source:
        return b'"format": "flitloom-certificate"' in source.start()[:HEAD]


INPUT = Input(
    title="a certificate",
    given="name it behind its tables or its plan",
    uses={},
    sniff=sniff,
    takers=("flitloom recheck",),
)
