"""The fields that only the pipelined router has, and how the core calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flitloom._core import LIMITS
from flitloom.spec.base import Problems, problem, whole_number

#: Models of a router.
MODELS = ("one-cycle", "pipelined")
#: Most channels of a link.
CHANNELS = 64
#: What routers of one cycle have.
few_channels = whole_number(1, LIMITS["channels"])
#: How the channels of a port share its places, and who goes first.
POLICIES = ("private", "shared", "limited", "dynamic", "shifting")
PRIORITIES = (
    "none",
    "class",
    "age",
    "network_age",
    "local_age",
    "queue_length",
    "hop_count",
    "sequence",
)
#: Fields of pipelined routers: their defaults, and the options of the core that they stand for.
PIPELINED: dict[str, tuple[Any, str]] = {
    "routing_delay": (1, "routing_delay"),
    "crossbar_delay": (1, "st_final_delay"),
    "credit_delay": (0, "credit_delay"),
    "vc_allocator": ("islip", "vc_allocator"),
    "switch_allocator": ("islip", "sw_allocator"),
    "speculative": (False, "speculative"),
    "speculative_allocator": ("prio", "spec_sw_allocator"),
    "input_speedup": (1, "input_speedup"),
    "output_speedup": (1, "output_speedup"),
    "internal_speedup": (1.0, "internal_speedup"),
    "output_buffer": (-1, "output_buffer_size"),
    "buffer_policy": ("private", "buffer_policy"),
    "priority": ("none", "priority"),
    "wait_for_tail_credit": (False, "wait_for_tail_credit"),
    "message_classes": (1, ""),
    "reply_length": (None, ""),
    "reply_places": (None, ""),
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


def check_model(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a router as they were given, if they belong to its model; with its buffer."""
    problems = Problems()
    model = data.get("model", MODELS[0])
    if model == "pipelined":
        others = [name for name in ONE_CYCLE if data.get(name) not in _unset(name)]
        others += ["preset"] if data.get("preset") is not None else []
        for name in others:
            problems.add(name, problem("belongs to routers of one cycle", "leave it out"))
    elif model == MODELS[0]:
        for name in PIPELINED:
            if data.get(name) is not None:
                problems.add(name, problem("belongs to pipelined routers", "give router.model = pipelined"))
    problems.end()
    return {"buffer": BUFFER, **data} if model == "pipelined" else dict(data)


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


def options(router: Any) -> dict[str, str]:
    """What the core is told of a pipelined router; fields that are not given have their defaults.

    >>> import flitloom as fl
    >>> told = options(fl.Router(model="pipelined", vc_allocator="islip(2)", speculative=True))
    >>> told["vc_allocator"], told["speculative"], told["st_final_delay"]
    ('islip(2)', '1', '1')
    """
    told = {"vc_buf_size": str(router.buffer), "st_prepare_delay": "0"}
    if router.channels is not None:
        told["num_vcs"] = str(router.channels)
    for name, (default, option) in PIPELINED.items():
        value = getattr(router, name)
        if option:
            value = default if value is None else value
            told[option] = str(int(value)) if isinstance(value, bool) else str(value)
    if router.reply_length is not None:
        told |= {"classes": "2", "use_read_write": "1"}
        ends = ["-1", "-1"] if router.message_classes == 2 else ["0", ""]
        for kind in ("read_request", "read_reply", "write_request", "write_reply"):
            told |= {f"{kind}_begin_vc": ends[0], f"{kind}_end_vc": ends[1]}
    return told


#: The fields of a router that options of the core stand for.
FIELDS = {option: name for name, (_, option) in PIPELINED.items() if option} | {
    "num_vcs": "channels",
    "vc_buf_size": "buffer",
    "read_request_end_vc": "channels",
    "read_reply_end_vc": "channels",
}
