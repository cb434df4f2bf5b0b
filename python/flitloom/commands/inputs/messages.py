"""A message graph: GOAL as text or binary, or a Chakra trace."""

from __future__ import annotations

from functools import partial

from flitloom.commands.actions import perform
from flitloom.commands.inputs.checked import CHECK
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.options import Grid, Router, Traffic
from flitloom.commands.options.simulation import Outputs
from flitloom.formats import is_messages

TITLE = "a message graph"
ITS_OWN = "brings its own traffic; give the network and its routers only"
_REFUSALS = (
    Refusal(names_of("seed", "stop_at", "throttle"), "{option}", f"{TITLE} {ITS_OWN}"),
    Refusal(
        names_of(Traffic, Outputs),
        "{option}",
        f"{TITLE} brings its own traffic and has no records",
        "give the network only",
    ),
)

INPUT = Input(
    title=TITLE,
    given="give one that ends in .goal, .bin or .et",
    sniff=is_messages,
    uses={
        "simulate": Use(
            partial(perform, "simulate_messages"),
            names_of(
                Grid, Router, "cycle_limit", "settings", "network", "graph", "tables", "placement",
                "flit_bytes", "calc_cycles", "bandwidth", "threads", "json",
            ),
            _REFUSALS,
        ),
        "check": CHECK,
        "convert": Use(convert),
    },
    several_ranks=True,
)  # fmt: skip
