"""Kinds of nodes where a file says none: what is a host, what a switch, guessed from names and cables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: What a node may call itself.
KINDS = {
    "host": ["host", "node", "terminal", "ca", "hca", "nic", "endpoint", "compute", "server", "gpu", "npu"],
    "switch": ["switch", "router", "relay", "sw", "nvswitch", "leaf", "spine", "core", "tor", "aggr", "edge"],
    "aggregation": ["aggregation", "aggregation node", "sharp", "an"],
}
#: Words in the names of switches.
_SWITCHES = re.compile(
    r"^(?:s|r)\d+$|(?:^|[^a-z])(?:[a-z]{0,3}sw|leaf|spine|rtr|tor|agg|core)(?:[^a-z]|$)|switch|router",
    re.IGNORECASE,
)
#: Words in the names of GPUs and their like.
_GPUS = re.compile(r"(?:^|[^a-z])(?:gpu|npu|tpu|xpu|gcd)(?:[^a-z]|$)", re.IGNORECASE)
#: Words in the names of what joins these inside a box and leads out of it.
_INSIDE = re.compile(r"(?:^|[^a-z])(?:nic|hca|cx|mlx|pcie?|plx|pex|cpu)(?:[^a-z]|$)", re.IGNORECASE)
#: How the guess is put right.
OTHERWISE = "--hosts NAMES, --no-hosts, columns a,a_type,b,b_type, or a type in GraphML say otherwise"
#: The same where every switch was given a host.
OF_ALL = "; --hosts NAMES says which nodes are hosts, --no-hosts that every one has a host"


def kind_of(said: str) -> str:
    """The kind of a node that calls itself so; nothing if that is not a kind.

    >>> kind_of("GPU"), kind_of("Spine"), kind_of("blue")
    ('host', 'switch', '')
    """
    return next((kind for kind, words in KINDS.items() if said.strip().lower() in words), "")


def form(name: str) -> str:
    """A name with a sign for its numbers; names of one letter have one form.

    >>> form("n12-3"), form("a"), form("b")
    ('n#-#', 'letter', 'letter')
    """
    return "letter" if len(name) == 1 and name.isalpha() else re.sub(r"\d+", "#", name)


def guessed_hosts(neighbours: Mapping[str, Iterable[str]]) -> tuple[set[str], str]:
    """Which nodes are hosts where no file says so, and why.

    Where some names are those of switches, and the others are more and joined to switches alone, these are
    hosts. Where all names are those of GPUs, of switches and of what a box has besides (NICs, PCIe), the GPUs
    are. Otherwise names with one cable are, if no name of the same form has several.

    Parameters
    ----------
    neighbours : mapping
        By name the names at the other ends of its cables.

    Examples
    --------
    >>> hosts, why = guessed_hosts({"gpu0": ["sw"] * 4, "gpu1": ["sw"] * 4, "sw": ["gpu0", "gpu1"] * 4})
    >>> sorted(hosts), why
    (['gpu0', 'gpu1'], 'by their names, which are not those of switches')
    >>> box = {"gpu0": ["gpu1", "nic"], "gpu1": ["gpu0", "nic"], "nic": ["gpu0", "gpu1"]}
    >>> sorted(guessed_hosts(box)[0]), guessed_hosts(box)[1]
    (['gpu0', 'gpu1'], 'by their names, which are those of GPUs')
    >>> guessed_hosts({"a": ["b"], "b": ["a", "c"], "c": ["b"]})[0]
    set()
    """
    ends = {name: list(others) for name, others in neighbours.items()}
    forms: dict[str, int] = {}
    for name, others in ends.items():
        forms[form(name)] = max(forms.get(form(name), 0), len(others))
    switches = {name for name in ends if _SWITCHES.search(name)}
    rest = ends.keys() - switches
    most = max((len(ends[name]) for name in switches), default=0)
    below = all(len(ends[name]) <= most and switches.issuperset(ends[name]) for name in rest)
    if below and len(rest) > len(switches) > 0:
        return set(rest), "by their names, which are not those of switches"
    gpus = {name for name in ends if _GPUS.search(name)}
    between = ends.keys() - gpus
    if gpus and between and all(_INSIDE.search(name) or name in switches for name in between):
        return gpus, "by their names, which are those of GPUs"
    if switches and not rest:
        return set(), ""
    alone = {name for name, far in ends.items() if len(far) == 1 and forms[form(name)] == 1}
    if len(ends) == 2 or not alone:
        return set(), ""
    return alone, "since they have one cable"
