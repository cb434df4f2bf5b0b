"""What the command line says of the fields of a spec: one entry per option, which all verbs share.

Imported before specs are, which takes no time: help and TAB need nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flitloom._core import LIMITS, LISTS

__all__ = ["FIELDS", "OPTIONS", "Option", "one_of"]


def one_of(name: str, last: str = "or") -> str:
    """The names of a list of the core, as help shows them.

    >>> one_of("flow_controls"), one_of("routes", "and")
    ('wormhole, cut-through or bubble', 'dor, balanced-ties, any-order and minimal')
    """
    *names, end = LISTS[name]
    return f"{', '.join(names)} {last} {end}"


@dataclass(frozen=True)
class Option:
    """The option of a field.

    Attributes
    ----------
    kind : type
        Type of its value, int, float, str, bool, Path or list (of texts: the option may be repeated).
    help : str
        What it is, in a sentence: unit and range included, the default not.
    default : str
        What the value is without the option, for the help; empty where there is none.
    metavar : str
        Placeholder for the value; without one, the type stands there.
    names : tuple of str
        How it is written, where not as its name with hyphens.
    field : str
        The field of the part, where it is called otherwise.
    among : str
        The list of the core whose names it takes, which TAB offers.
    several : str
        An example of several values, where a verb compares them.
    says : str
        The kind of traffic, where it alone says it.
    """

    kind: type
    help: str
    default: str = ""
    metavar: str = ""
    names: tuple[str, ...] = ()
    field: str = ""
    among: str = ""
    several: str = ""
    says: str = ""

    def text(self, several: bool = False, default: bool = True) -> str:
        """The line of help; for verbs that compare, with the example of several values.

        >>> FIELDS["router"]["buffer"].text()
        'Depth of every input queue, in flits. [default: 4]'
        >>> FIELDS["traffic"]["length"].text(several=True)
        'Random load, matrix: flits per packet, or several: 8,16. [default: 8]'
        """
        text = self.help
        if several and self.several:
            text = f"{text.removesuffix('.')}, or several: {self.several}."
        return f"{text} [default: {self.default}]" if self.default and default else text


#: Options by the part of an experiment and their names, in the order of help.
FIELDS: dict[str, dict[str, Option]] = {
    "topology": {
        "torus": Option(
            str,
            "Sizes of a torus, e.g. 16x16 or 4x2x2x2.",
            metavar="SIZES",
            field="sizes",
            several="8x8,16x16",
        ),
        "mesh": Option(
            str, "Sizes of a mesh, e.g. 8x8.", metavar="SIZES", field="sizes", several="8x8,16x16"
        ),
        "wrap": Option(str, "Per dimension, whether it wraps, e.g. yes,no.", metavar="YES,NO,..."),
        "twist": Option(bool, "With --torus: a twisted one, of sizes like 4x4x8 or 4x8x8."),
        "fail": Option(
            list,
            "A failed part: node:3, node:(0,1), link:0-1 or link:(0,1)+x. May be repeated.",
            metavar="PART",
            field="failed_links",
        ),
    },
    "traffic": {
        "pattern": Option(
            str, f"{one_of('patterns')}.", metavar="NAME", among="patterns", several="shfl,torn, or all"
        ),
        "destinations": Option(Path, "CSV file with a destination per node, instead of a pattern."),
        "hotspot_fraction": Option(float, "Pattern hots: share of packets to the target, e.g. 0.1."),
        "hotspot_target": Option(int, "Pattern hots: the target, a node number, e.g. 36."),
        "payload": Option(int, "Payload of a packet, in flits.", "7"),
        "slices": Option(int, "Slices per packet.", "1"),
        "interval": Option(int, "Cycles between the starts of slices.", "0"),
        "delays": Option(Path, "CSV file with an injection delay per node, in cycles."),
        "packets": Option(int, "Packets per node.", "1"),
        "rate": Option(
            float, "Random load instead of a collective, in flits/node/cycle, e.g. 0.1.", says="load"
        ),
        "length": Option(int, "Random load, matrix: flits per packet.", "8", several="8,16"),
        "cycles": Option(int, "Random load: cycles in which packets are generated, e.g. 2000."),
        "matrix": Option(
            Path, "CSV file: packets from every node (row) to every node (column).", says="matrix"
        ),
        "packet_table": Option(
            Path, "CSV file: source,destination,length,start[,slice].", field="table", says="packets"
        ),
        "process": Option(
            str, f"When nodes start packets: {one_of('processes')}.", "bernoulli", "NAME", among="processes"
        ),
        "outstanding": Option(
            int,
            "Closed sources: most packets of a node in flight, e.g. 4.",
            "open sources",
            "PACKETS",
        ),
    },
    "router": {
        "model": Option(
            str,
            "Routers: one-cycle, or pipelined with fields like --set router.vc_allocator=islip.",
            "one-cycle; pipelined for switches",
            "NAME",
        ),
        "preset": Option(
            str,
            "Router: machine, or of a paper t15, s07 or cup-stacking; other options override its fields.",
            metavar="NAME",
        ),
        "channels": Option(
            int,
            f"Virtual channels per link, 1 to {LIMITS['channels']}.",
            "what the routing needs",
            several="3,6",
        ),
        "buffer": Option(int, "Depth of every input queue, in flits.", "4", several="4,8,16"),
        "latency": Option(int, "Cycles from router to router.", "1"),
        "flow_control": Option(
            str,
            f"{one_of('flow_controls')}.",
            "wormhole",
            "NAME",
            among="flow_controls",
            several="wormhole,cut-through",
        ),
        "arbitration": Option(
            str, f"Channel selection: {one_of('schemes')}.", "C00", "SCHEME", among="schemes"
        ),
        "routing": Option(
            str,
            f"Routing: {one_of('routings')}.",
            "do",
            "NAME",
            among="routings",
            several="do,sa, or all",
        ),
        "ties": Option(
            str,
            "At half of a ring: balanced (half of the packets go either way) or wrap (over the edge).",
            "wrap",
            "RULE",
            among="tie_rules",
            several="balanced,wrap",
        ),
    },
    "run": {
        "throttle": Option(
            str,
            f"Injection throttle: {one_of('throttles')}, e.g. spth:margin=8; your own: when:free >= 8.",
            "none",
            "RULE",
            among="throttles",
            several="none,spth:8, or all",
        ),
        "seed": Option(int, "Seed of everything random.", "1"),
        "stop_at": Option(int, "End at the start of this cycle and report the totals, e.g. 1000."),
        "cycle_limit": Option(int, "Fail if not everything is delivered before this cycle, e.g. 100000."),
        "settings": Option(
            list,
            "Change a field of the spec, e.g. router.buffer=8. May be repeated.",
            metavar="FIELD=VALUE",
            names=("--set",),
        ),
    },
}

#: The same by name alone; no two parts have options of one name.
OPTIONS: dict[str, Option] = {name: about for part in FIELDS.values() for name, about in part.items()}


def flags(name: str) -> list[str]:
    """How an option is written.

    >>> flags("settings"), flags("flow_control")
    (['--set'], ['--flow-control'])
    """
    return list(OPTIONS[name].names) or [f"--{name.replace('_', '-')}"]


def spoken(values: dict[str, Any]) -> dict[str, Any]:
    """Values of options by the fields they fill; those that were not given are left out.

    >>> spoken({"packet_table": "p.csv", "rate": None})
    {'table': 'p.csv'}
    """
    return {OPTIONS[name].field or name: value for name, value in values.items() if value is not None}
