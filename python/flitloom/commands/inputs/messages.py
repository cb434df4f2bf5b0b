"""A message graph: GOAL as text or binary, or a Chakra trace."""

from __future__ import annotations

from functools import partial

from flitloom.commands.actions import perform
from flitloom.commands.convert import Asked
from flitloom.commands.inputs.checked import CHECK
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.options import Grid, Router, Run, Traffic
from flitloom.commands.options.simulation import Kept, Outputs
from flitloom.formats import is_messages

TITLE = "a message graph"
_REFUSALS = (
    Refusal(
        names_of(Traffic),
        "{option}",
        f"{TITLE} brings its own traffic",
        "give the network and its routers only",
    ),
)


def to_file(asked: Asked) -> None:
    """Write the messages in another format, or the spec of an experiment that sends them."""
    if asked.target.suffix == ".toml":
        perform("simulate_messages:write_spec", asked)
    else:
        convert(asked)


INPUT = Input(
    title=TITLE,
    given="give one that ends in .goal, .bin or .et",
    sniff=is_messages,
    uses={
        "simulate": Use(
            partial(perform, "simulate_messages"),
            names_of(
                Grid, Router, Run, Kept, Outputs, "network", "graph", "tables", "placement", "flit_bytes",
                "calc_cycles", "bandwidth", "machine", "ports", "json",
            ),
            _REFUSALS,
            several_ranks=True,
        ),
        "check": CHECK,
        "convert": Use(to_file),
    },
)  # fmt: skip
