"""How long the messages of an operation may be, and how many there may be."""

import re

import pytest

import flitloom as fl
from flitloom.scheduling.operation import Operation, operation_phases


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
    with pytest.raises(fl.SpecError, match="a message would have 1048576 flits of payload"):
        operation_phases(network, Operation(name, payload=longest + 1))


def test_a_million_messages_are_the_most() -> None:
    (phase,), _ = operation_phases(fl.Network(fl.Torus(32, 32)), Operation("all-to-all", payload=1))
    assert phase.shape == (1024 * 1023, 4)
    with pytest.raises(fl.SpecError, match=re.escape(f"{1025**2} messages; at most {2**20}")):
        operation_phases(fl.Network(fl.Torus(41, 25)), Operation("all-to-all", payload=1))
