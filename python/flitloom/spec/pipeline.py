"""The fields that only the pipelined router has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from flitloom._core import LIMITS, LISTS
from flitloom.errors import SpecError, show
from flitloom.spec.base import Problems, problem, whole_number
from flitloom.spec.described import fields_of_options, options_of

#: Models of a router.
MODELS = ("one-cycle", "pipelined")
#: Most channels of a link.
CHANNELS = 64
#: What routers of one cycle have.
few_channels = whole_number(1, LIMITS["channels"])
#: How the channels of a port share its places, and who goes first.
POLICIES, PRIORITIES = LISTS["buffer_policies"], LISTS["priorities"]
#: Fields of pipelined routers with their defaults.
PIPELINED: dict[str, Any] = {
    "routing_delay": 1,
    "crossbar_delay": 1,
    "credit_delay": 0,
    "vc_allocator": "islip",
    "switch_allocator": "islip",
    "speculative": False,
    "speculative_allocator": "prio",
    "input_speedup": 1,
    "output_speedup": 1,
    "internal_speedup": 1.0,
    "output_buffer": -1,
    "buffer_policy": "private",
    "priority": "none",
    "wait_for_tail_credit": False,
    "message_classes": 1,
    "reply_length": None,
    "reply_places": None,
    "options": None,
}
#: Fields of the other model only.
ONE_CYCLE = (
    "flow_control",
    "grant_needs_room",
    "processor_queues",
    "arbitration",
    "queue_order",
    "variant",
    "north",
)
#: Routing functions of pipelined routers: those whose ways depend on the packet alone.
OBLIVIOUS = ("do", "o1turn", "valiant")
#: Places of a queue in pipelined routers, in flits, where nothing else is said.
BUFFER = 8


def checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a router as they were given, if they belong to its model; with those that others give."""
    problems = Problems()
    model = data.get("model", MODELS[0])
    if model == "pipelined":
        others = [name for name in ONE_CYCLE if data.get(name) not in _unset(name)]
        others += ["preset"] if data.get("preset") is not None else []
        for name in others:
            problems.add(name, problem("belongs to routers of one cycle", "leave it out"))
        if data.get("options") is not None:
            # Specs that are written out have all fields.
            said = PIPELINED.keys() - {"options"} | {"routing"}
            for name in sorted(said & {name for name, value in data.items() if value not in (None, "do")}):
                problems.add(name, problem("is stated by the options of BookSim2", "leave it out"))
            data = _with_options(data, problems)
    elif model == MODELS[0]:
        for name in PIPELINED:
            if data.get(name) is not None:
                problems.add(name, problem("belongs to pipelined routers", "give router.model = pipelined"))
    problems.end()
    return {"buffer": BUFFER, **data} if model == "pipelined" else dict(data)


def _with_options(data: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """The fields with those that options of BookSim2 give; notes fields that say something else."""
    try:
        told = fields_of_options(options_of(data["options"]))
    except SpecError as error:
        problems.add_field("options", error)
        return dict(data)
    except PydanticCustomError:
        # The field itself is refused, with its place.
        return dict(data)
    for name, number in told.items():
        if data.get(name) not in (None, number):
            text = f"is {show(data[name])}, and {number} by the options of BookSim2"
            problems.add(name, problem(text, "leave it out"))
    return {**data, **told}


def _unset(name: str) -> tuple[Any, ...]:
    """What fields of the other model may be: a spec that was written out has all of them."""
    defaults = {
        "flow_control": "wormhole",
        "grant_needs_room": False,
        "processor_queues": "one",
        "arbitration": "C00",
        "variant": "queues",
        "north": "+y",
    }
    return (None, defaults.get(name, ()), [])


def router_fields(router: Any) -> dict[str, Any]:
    """What the core is told of a pipelined router; fields that are not given have their defaults.

    >>> import flitloom as fl
    >>> told = router_fields(fl.Router(model="pipelined", vc_allocator="islip(2)", speculative=True))
    >>> told["vc_allocator"], told["speculative"], told["crossbar_delay"]
    ('islip(2)', True, 1)
    """
    given = {name: getattr(router, name) for name in PIPELINED}
    chosen = {name: PIPELINED[name] if value is None else value for name, value in given.items()}
    return {"channels": router.channels, "buffer": router.buffer, **chosen}
