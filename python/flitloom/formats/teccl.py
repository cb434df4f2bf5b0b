"""Schedules of TE-CCL (JSON)."""

from __future__ import annotations

import json

from flitloom.collectives.teccl import FIRST_KEY, read_teccl
from flitloom.formats.format import Format, sample
from flitloom.formats.sends import plan_checker, plan_reader
from flitloom.ground import limits


def _seed() -> bytes:
    flows = [
        f"Chunk {chunk} from {source} traveled over {start}->{end} in epoch {epoch}"
        for epoch, start, end, source, chunk in sample().expanded().moves
    ]
    return json.dumps({FIRST_KEY: 1e-9, "7-Flows": flows, "8-Chunk paths": {}}).encode()


FORMAT = Format(
    name="teccl",
    title="schedule of TE-CCL",
    endings=(".json",),
    limit=limits.FOREIGN_BYTES,
    form="json",
    seed=_seed,
    sniff=lambda start: f'"{FIRST_KEY}"'.encode() in start,
    read_plan=plan_reader(read_teccl),
    check_plan=plan_checker(read_teccl),
)
