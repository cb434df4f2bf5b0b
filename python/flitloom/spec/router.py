"""The router at every node."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ValidationInfo

from flitloom._core import LIMITS
from flitloom.spec.base import SpecModel, each, name_of, one_of, whole, whole_number

#: The ten channel-selection schemes of cup-stacking-extended-2023, Table 1.
SCHEMES = tuple(f"C{number:02}" for number in range(10))
_scheme = name_of(*SCHEMES)
_schemes = each(_scheme, LIMITS["nodes"] * (2 * LIMITS["dimensions"] + 1))


def parse_arbitration(value: Any, info: ValidationInfo) -> Any:
    """Accept one scheme, or a list of them."""
    if isinstance(value, list | tuple):
        return _schemes(value, info)
    return _scheme(value, info)


class Router(SpecModel):
    """The router at every node; the default is the papers' (cup-stacking-2022, Section 5.1).

    Parameters
    ----------
    channels : int, optional
        Virtual channels per link, 1 to 8. By default one per wrapping dimension and one more, which
        keeps dimension-order routing free of deadlock, and at least three.
    buffer : int
        Depth of every input queue in flits, 1 to 1024.
    latency : int
        Cycles from one router to the next, 1 to 1024.
    flow_control : {"wormhole", "cut-through", "bubble"}
        Whether a header advances as soon as one flit fits, or only when its whole packet does; with
        bubble, a packet that enters a ring must also leave room for another one, and there are no
        datelines (Puente et al. 1999).
    arbitration : str or sequence of str
        Channel-selection scheme ``C00`` to ``C09`` (cup-stacking-extended-2023, Table 1), or one for
        every output port: entry ``node * ports + port``, ports in the order +x, -x, +y, -y, ..., P.
    queue_order : sequence of int, optional
        Input ports in the order queue selection evaluates them at first, for every output channel:
        entries ``((node * ports + port) * channels + channel) * ports`` and following. By default
        +last, ..., +x, -last, ..., -x, P everywhere (N, E, S, W, P in two dimensions).

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Router(buffer=8, arbitration="C05").buffer
    8
    """

    place: ClassVar[str] = "router"

    channels: Annotated[int, whole(1, LIMITS["channels"])] | None = None
    buffer: Annotated[int, whole(1, LIMITS["buffer"], "flits")] = 4
    latency: Annotated[int, whole(1, LIMITS["latency"], "cycles")] = 1
    flow_control: Annotated[str, one_of("wormhole", "cut-through", "bubble")] = "wormhole"
    arbitration: Annotated[str | tuple[str, ...], BeforeValidator(parse_arbitration)] = "C00"
    queue_order: Annotated[
        tuple[int, ...], BeforeValidator(each(whole_number(0, 2 * LIMITS["dimensions"]), 1 << 24))
    ] = ()
