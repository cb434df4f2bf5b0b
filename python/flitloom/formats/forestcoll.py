"""Trees of ForestColl (XML)."""

from __future__ import annotations

from flitloom.collectives.forestcoll import read_forestcoll
from flitloom.formats.format import Format, sample
from flitloom.formats.sends import plan_checker, plan_reader
from flitloom.ground import limits


def _seed() -> bytes:
    lines = ['<Algo nchunkspernode="1">']
    moves = sample().expanded().moves
    for root in range(sample().ground.nodes):
        lines.append(f'<tree root="{root}" index="0" nchunks="1">')
        lines += [
            f'<send src="{a}" dst="{b}" path="{a},{b}"/>' for _, a, b, source, _ in moves if source == root
        ]
        lines.append("</tree>")
    return "\n".join([*lines, "</Algo>", ""]).encode()


FORMAT = Format(
    name="forestcoll",
    title="trees of ForestColl",
    endings=(".xml",),
    limit=limits.FOREIGN_BYTES,
    form="xml",
    seed=_seed,
    sniff=lambda start: b"<Algo" in start,
    read_plan=plan_reader(read_forestcoll),
    check_plan=plan_checker(read_forestcoll),
)
