"""Schedules of TE-CCL (Liu et al., SIGCOMM 2024): which chunk travels over which link in which epoch."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flitloom.collectives.foreign import Send, Sends
from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_json
from flitloom.spec.ground import Ground

#: The first key of every file.
FIRST_KEY = "1-Epoch_Duration"
_FLOW = re.compile(
    r"Chunk (\d{1,7}) from (\d{1,7}) traveled over (\d{1,7})->(\d{1,7})(?: with volume ([0-9.eE+-]{1,30}))?"
    r" in epoch (\d{1,9})( via switches .*)?",
    re.ASCII,
)
_DEMAND = re.compile(r"Demand at (\d{1,7}) for chunk (\d{1,7}) from (\d{1,7}) met by epoch \d{1,9}", re.ASCII)


def read_teccl(file: str | Path, ground: Ground) -> Sends:
    """Read a schedule; nodes are numbered as in the network.

    A chunk that all other nodes want makes an all-gather, one that a single node wants an all-to-all.

    Raises
    ------
    SpecError
        It is not such a schedule, cuts chunks into parts, or goes over switches.
    """
    place = show_file(file)
    data = read_json(file, limits.FOREIGN_BYTES)
    flows = data.get("7-Flows")
    if FIRST_KEY not in data or not isinstance(flows, list) or not flows:
        raise SpecError(f"{place}: is not a schedule of TE-CCL; its list 7-Flows is missing or empty")
    rows = []
    for number, text in enumerate(flows):
        where = f"7-Flows[{number}]"
        found = _FLOW.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise SpecError(f"{place}: {where}: write Chunk 0 from 1 traveled over 1->2 in epoch 3")
        if found[5] is not None and abs(_number(found[5]) - 1) > 1e-6:
            raise SpecError(f"{place}: {where}: volume {found[5]}; parts of chunks are not a plan")
        if found[7] is not None:
            raise SpecError(f"{place}: {where}: {found[7].strip()}; tori and meshes have none")
        chunk, source, start, end = (int(found[group]) for group in range(1, 5))
        for node in (source, start, end):
            if node >= ground.nodes:
                raise SpecError(
                    f"{place}: {where}: node {node}; the network has {counted(ground.nodes, 'node')}"
                )
        rows.append((int(found[6]), number, chunk, source, start, end))
    rows.sort()
    wanted = _wanted(data)
    exchange = any("with volume" in text for text in flows) or (
        ground.nodes > 2 and bool(wanted) and all(len(ends) == 1 for ends in wanted.values())
    )
    blocks = _blocks(rows, wanted, exchange, place)
    sends = [
        Send(start, end, blocks[source, chunk], f"7-Flows[{number}]", epoch)
        for epoch, number, chunk, source, start, end in rows
    ]
    counts = {block[:-1]: 0 for block in blocks.values()}
    for block in blocks.values():
        counts[block[:-1]] += 1
    if len(set(counts.values())) != 1:
        raise SpecError(f"{place}: 7-Flows: nodes have different numbers of chunks")
    return Sends(
        "all-to-all" if exchange else "all-gather",
        max(counts.values()),
        sends,
        {block: source for (source, _), block in blocks.items()},
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _wanted(data: dict[str, Any]) -> dict[tuple[int, int], set[int]]:
    """Who wants every chunk (source, number), as far as the file says."""
    wanted: dict[tuple[int, int], set[int]] = defaultdict(set)
    paths = data.get("8-Chunk paths")
    for text in paths if isinstance(paths, dict) else ():
        found = _DEMAND.fullmatch(text)
        if found is not None:
            wanted[int(found[3]), int(found[2])].add(int(found[1]))
    met = data.get("6-Demand_Met")
    for end, sources in met.items() if isinstance(met, dict) else ():
        for source, chunks in sources.items() if isinstance(sources, dict) else ():
            for chunk in chunks if isinstance(chunks, dict) else ():
                numbers = [re.fullmatch(r"[A-Za-z]+ (\d{1,7})", text) for text in (source, chunk, end)]
                if all(numbers):
                    first, second, third = (int(one[1]) for one in numbers if one is not None)
                    wanted[first, second].add(third)
    return wanted


def _blocks(
    rows: Sequence[tuple[int, ...]], wanted: dict[tuple[int, int], set[int]], exchange: bool, place: str
) -> dict[tuple[int, int], tuple[int, ...]]:
    """Chunks as plans name them, by source and number."""
    known = sorted({(source, chunk) for _, _, chunk, source, _, _ in rows} | set(wanted))
    if not exchange:
        return {key: key for key in known}
    blocks: dict[tuple[int, int], tuple[int, ...]] = {}
    numbers: dict[tuple[int, int], int] = defaultdict(int)
    for source, chunk in known:
        if len(wanted.get((source, chunk), ())) != 1:
            raise SpecError(
                f"{place}: 8-Chunk paths: nothing says which node wants chunk {chunk} of {source}"
            )
        pair = source, next(iter(wanted[source, chunk]))
        blocks[source, chunk] = *pair, numbers[pair]
        numbers[pair] += 1
    return blocks
