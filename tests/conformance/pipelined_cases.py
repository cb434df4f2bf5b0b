"""Stored cases of pipelined routers: every allocator, form of the engine and kind of network."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.stored_cases import Fields, case, collective, load

TORUS: Fields = {"sizes": [4, 4]}
MESH: Fields = {"kind": "mesh", "sizes": [5, 3]}
#: Routers that bit planes cover.
OF_PLANES: Fields = {"vc_allocator": "islip", "switch_allocator": "islip"}
REPLIES: Fields = {"channels": 8, "reply_length": 3, "message_classes": 2}
ALLOCATORS = (
    "islip",
    "pim",
    "loa",
    "wavefront",
    "max_size",
    "separable_input_first",
    "separable_output_first",
)


def pipelined() -> Iterator[tuple[str, Fields]]:
    """Cases by name."""

    def of(topology: Fields, traffic: Fields, **router: object) -> Fields:
        return case(topology, traffic, {"model": "pipelined", **router}, seed=5)

    few, many = load(rate=0.1, length=3, cycles=150), load(rate=0.5, length=3, cycles=150)
    line, square = {"kind": "mesh", "sizes": [70]}, {"kind": "mesh", "sizes": [9, 8]}
    yield "pipelined-planes-line", of(line, load(rate=0.02, length=3, cycles=150), **OF_PLANES)
    yield "pipelined-planes-square", of(square, few, **OF_PLANES)
    yield "pipelined-planes-speedup", of(square, few, **OF_PLANES, input_speedup=2, channels=4)
    yield "pipelined-planes-replies", of(square, few, **OF_PLANES, **{**REPLIES, "channels": 16})
    for allocator in ALLOCATORS:
        both = {"vc_allocator": allocator, "switch_allocator": allocator}
        yield f"pipelined-{allocator.replace('_', '-')}", of(MESH, many, **both)
    yield "pipelined-speculative", of(TORUS, many, speculative=True)
    yield (
        "pipelined-shared",
        of(TORUS, many, buffer_policy="shared", priority="age", wait_for_tail_credit=True),
    )
    yield "pipelined-delays", of(TORUS, many, routing_delay=2, crossbar_delay=2, credit_delay=3, latency=3)
    yield "pipelined-replies", of(MESH, few, **REPLIES, reply_places=1)
    yield "pipelined-o1turn", of(TORUS, many, routing="o1turn", channels=8)
    yield "pipelined-valiant", of({"sizes": [3, 3, 4]}, few, routing="valiant", channels=8)
    yield "pipelined-burst", of({"sizes": [4, 4, 2]}, collective(packets=2), output_buffer=4)
    yield "pipelined-failed", of({**TORUS, "failed_links": ["0-1"]}, many)
    yield "pipelined-dragonfly", of({"network": "dragonfly(3,1,2)"}, few)
    yield "pipelined-product", of({"network": "full4 x ring3"}, few)
