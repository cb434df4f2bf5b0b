"""How long the messages of an operation may be, and how many there may be."""

import re

import pytest

import flitloom as fl
from flitloom.plans.operation import Operation, operation_phases


@pytest.mark.parametrize(
    ("name", "blocks"),
    [("all-to-all", 1), ("broadcast", 1), ("all-gather", 4), ("reduce-scatter", 4), ("all-reduce", 4)],
)
def test_messages_are_as_long_as_the_blocks_that_go_together(name: str, blocks: int) -> None:
    """All-to-all and broadcast send blocks one by one; in the last ring of the others a row goes together."""
    network = fl.Network(fl.Torus(4, 4))
    longest = 2**20 // blocks - 1
    phases, _ = operation_phases(network, Operation(name, payload=longest))
    assert max(int(phase[:, 2].max()) for phase in phases) == longest * blocks + 1
    told = "a message would have 1048576 flits of payload; at least 1 and at most 1048575 are possible"
    with pytest.raises(fl.SpecError, match=told):
        operation_phases(network, Operation(name, payload=longest + 1))


def test_a_million_messages_are_the_most() -> None:
    # Once around the ring of two and 511 times around that of 512, there and back.
    phases, _ = operation_phases(fl.Network(fl.Torus(2, 512)), Operation("all-reduce", payload=1))
    assert sum(len(phase) for phase in phases) == 2 * 1024 * (1 + 511) == 2**20
    with pytest.raises(fl.SpecError, match=re.escape(f"{1025 * 1024} messages; at most {2**20}")):
        operation_phases(fl.Network(fl.Torus(41, 25)), Operation("all-to-all", payload=1))


@pytest.mark.parametrize("name", ["all-to-all", "all-gather", "reduce-scatter", "all-reduce", "broadcast"])
def test_messages_that_are_too_many_are_those_that_there_would_be(name: str) -> None:
    """Counted in a small network, and by hand in one whose nodes are too many for one phase after another."""
    phases, _ = operation_phases(fl.Network(fl.Torus(5, 3)), Operation(name, payload=1))
    made = sum(len(phase) for phase in phases)
    assert made == {"all-to-all": 15 * 14, "broadcast": 14, "all-reduce": 2 * 15 * 6}.get(name, 15 * 6)
    if name != "broadcast":
        nodes = 512 * 512
        most = {"all-to-all": nodes - 1, "all-reduce": 4 * 511}.get(name, 2 * 511) * nodes
        with pytest.raises(fl.SpecError, match=re.escape(f"{most} messages; at most {2**20}")):
            operation_phases(fl.Network(fl.Torus(512, 512)), Operation(name, payload=1))
