"""The router at every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from flitloom._core import LIMITS, LISTS, routing_functions
from flitloom.spec import pipeline
from flitloom.spec.base import (
    Checked,
    Problems,
    SpecModel,
    boolean,
    each,
    listed,
    name_of,
    one_of,
    real,
    text,
    whole,
    whole_number,
)
from flitloom.spec.described import OPTIONS, options_of

#: Names for editors to offer.
SchemeName = Literal["C00", "C01", "C02", "C03", "C04", "C05", "C06", "C07", "C08", "C09", "packet"]
#: The ten channel-selection schemes of cup-stacking-extended-2023, Table 1.
SCHEMES = LISTS["published_schemes"]
_scheme = name_of(*LISTS["schemes"])
_MOST_PORTS = LIMITS["nodes"] * (2 * LIMITS["dimensions"] + 1)
_schemes = each(_scheme, _MOST_PORTS)
_SCHEME = {"enum": [*LISTS["schemes"]]}

#: What routing functions do, by their short names.
ROUTINGS = {short: summary for short, _, summary in routing_functions()}
ROUTING_NAMES = {name: short for short, long, _ in routing_functions() for name in (short, long)}
_routing = name_of(*ROUTING_NAMES)
#: The same, for editors to offer.
RoutingName = Literal[
    "do", "dimension-order", "sa", "simple-adaptive", "cl", "cross-line", "o1turn", "orthogonal-one-turn",
    "valiant", "valiant-randomised", "ma", "minimal-adaptive", "ugal", "globally-adaptive",
]  # fmt: skip


def parse_routing(value: Any, info: ValidationInfo) -> str:
    """Accept the short or the long name of a routing function, return the short one."""
    return ROUTING_NAMES[_routing(value, info)]


def parse_arbitration(value: Any, info: ValidationInfo) -> Any:
    """Accept one scheme, or a list of them."""
    if isinstance(value, list | tuple):
        return _schemes(value, info)
    return _scheme(value, info)


_LAST_PORT, _MOST_ORDERED = 2 * LIMITS["dimensions"], 1 << 24
_PORT = {"type": "integer", "minimum": 0, "maximum": _LAST_PORT}

#: Routers by name: the fields in which they differ from the default one.
PRESETS: dict[str, dict[str, Any]] = {
    # What flitloom load takes: a machine's, not a paper's.
    "machine": {"buffer": 16, "ties": "balanced"},
    # state-propagation-throttling-2015, Section 5.1
    "t15": {
        "channels": 3,
        "buffer": 16,
        "flow_control": "cut-through",
        "grant_needs_room": True,
        "processor_queues": "per-direction",
        "arbitration": "packet",
    },
    # scaling-effects-2007, Section 2
    "s07": {
        "channels": 3,
        "buffer": 16,
        "flow_control": "cut-through",
        "datelines": "wrap",
        "grant_needs_room": True,
        "arbitration": "packet",
    },
    # cup-stacking-2022 and cup-stacking-extended-2023: all 90 deterministic values, see docs/router.md
    "cup-stacking": {
        "buffer": 4,
        "variant": "registers",
        "datelines": "checkerboard",
        "north": "-y",
    },
}
_preset = name_of(*PRESETS)


class Router(SpecModel):
    """The router at every node; the default is the papers' (cup-stacking-2022, Section 5.1).

    Parameters
    ----------
    channels : int, optional
        Virtual channels per link, 1 to 8. By default as many as keep the routing deadlock-free (one per
        wrapping dimension and one more for dimension order), and at least three.
    buffer : int
        Depth of every input queue in flits, 1 to 1024.
    latency : int
        Cycles from one router to the next, 1 to 1024.
    flow_control : {"wormhole", "cut-through", "bubble"}
        Whether a header advances as soon as one flit fits, or only when its whole packet does; with
        bubble, a packet that enters a ring must also leave room for another one, and there are no
        datelines (Puente et al. 1999).
    datelines : {"both", "wrap", "passing", "checkerboard"}
        Where channel numbers rise in a ring of N nodes: between N/2 - 1 and N/2 as well as between N - 1
        and 0 (cup-stacking-extended-2023, A.1), or there only, or at both, but between N - 1 and 0 not for
        packets injected right before, or at both, but at neither for packets injected right before it at a
        node whose coordinates have an odd sum. None do with bubble.
    grant_needs_room : bool
        Whether VC allocation grants an output channel of a link only to a header whose whole packet fits
        behind it at the start of the cycle (state-propagation-throttling-2015).
    processor_queues : {"one", "per-direction"}
        Queues of the processor, with an unbounded source queue behind each: one, or one for every direction
        of the first hop, so that several packets may enter at once (state-propagation-throttling-2015).
    arbitration : str or sequence of str
        Channel-selection scheme ``C00`` to ``C09`` (cup-stacking-extended-2023, Table 1) or ``packet``
        (round robin packet by packet), or one for every output port: entry ``node * ports + port``, ports
        in the order +x, -x, +y, -y, ..., P.
    queue_order : sequence of int, optional
        Input ports in the order VC allocation evaluates them at first, for every output channel:
        entries ``((node * ports + port) * channels + channel) * ports`` and following. By default
        +last, ..., +x, -last, ..., -x, P everywhere (N, E, S, W, P in two dimensions; see `north`).
    north : {"+y", "-y"}
        Which direction is north, with which the default order begins; in other than two dimensions +y and -y
        mean the plus and the minus direction of the last one.
    routing : str
        Which route packets without a source route take, by its short or long name:

        - ``do`` (dimension-order): one dimension after the other, the first one first.
        - ``o1turn``: every packet draws whether it takes the dimensions in ascending or descending order
          (Seo et al. 2005).
        - ``valiant``: in dimension order to a node drawn for the packet, and on from there (Valiant and
          Brebner 1981).
        - ``sa`` (simple-adaptive): the adaptive channel with more space in a direction that leads nearer,
          else an escape channel in dimension order (scaling-effects-2007).
        - ``cl`` (cross-line): as ``sa``, in the direction with fewer full buffers on the line ahead
          (scaling-effects-2007).
        - ``ma`` (minimal-adaptive): as ``sa``, with all channels but the two escapes adaptive (Duato 1993).
        - ``ugal`` (globally-adaptive): at its source a packet takes the short way or Valiant's, where fewer
          flits wait times the hops (Singh 2005).

        sa, cl and ma need cut-through.
    ties : {"wrap", "balanced"}
        Which route packets take to the opposite place of a ring: over the wrap-around link, as in the
        papers, or plus from even coordinates and minus from odd ones, which sends half of the packets each
        way. Twisted tori and circulants have separate rules.
    variant : {"queues", "registers"}
        Flits wait in input queues, or in input queues one flit shorter and an output register of one flit
        per output channel: where flits wait in the router of the cup-stacking papers (docs/router.md), with
        datelines ``passing`` unless others are given.
    model : {"one-cycle", "pipelined"}
        Routers that pass a flit on in one cycle, or the pipelined router of the field (docs/pipelined.md)
        with 1 to 64 channels and 8 flits per queue unless others are given. The fields below are those of a
        pipelined one; it has no flow_control, arbitration and so on.
    routing_delay, crossbar_delay : int
        Cycles of the stages of route computation (1; 0: in the router before) and of the crossbar (1).
    credit_delay : int
        Cycles that a credit takes beyond its link (0).
    vc_allocator, switch_allocator : str
        What assigns channels and the crossbar: ``islip``, ``islip(2)``, ``pim``, ``select``, ``loa``,
        ``max_size``, ``wavefront``, ``rr_wavefront``, ``separable_input_first``, ``separable_output_first``
        (``islip``).
    speculative : bool
        Whether headers ask for the crossbar before they have a channel.
    speculative_allocator : str
        What assigns the crossbar to these: a separate allocator, or ``prio``: the same, after others.
    input_speedup, output_speedup : int
        Connections of a port of the crossbar (1).
    internal_speedup : float
        Steps of a router per cycle (1).
    output_buffer : int
        Flits that may wait behind the crossbar per port; -1 for any number.
    buffer_policy : str
        How the channels of a port share its places: ``private``, ``shared``, ``limited``, ``dynamic``,
        ``shifting``.
    priority : str
        Who goes first: ``none``, ``class``, ``age``, ``network_age``, ``local_age``, ``queue_length``,
        ``hop_count``, ``sequence``.
    wait_for_tail_credit : bool
        Whether a channel has no new owner before all flits of its last one have left the queue behind it.
    reply_length : int, optional
        Every packet is answered by its destination with a packet of this many flits.
    reply_places : int, optional
        Requests that a node holds whose reply has not left it; while it has this many it takes no further
        request from the network. Any number without.
    message_classes : {1, 2}
        Whether requests and replies share the channels of links, or have half of them each.
    options : dict of str to str, optional
        What a file of BookSim2 says of its network, its routing function and its routers, in place of all
        fields of pipelined ones. The network must be the one that they describe.
        `flitloom.booksim.experiment` gives both.
    preset : {"machine", "t15", "s07", "cup-stacking"}, optional
        Start from another router: a machine's, with queues of 16 flits and balanced ties, or that of a paper:
        state-propagation-throttling-2015, scaling-effects-2007, or
        cup-stacking-2022 and cup-stacking-extended-2023, whose deterministic values it gives exactly. Fields
        that are given overrule its own.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Router(routing="simple-adaptive", flow_control="cut-through", buffer=16).routing
    'sa'
    >>> fl.Router(buffer=8, arbitration="C05").buffer
    8
    >>> router = fl.Router(preset="t15", buffer=24)
    >>> router.flow_control, router.grant_needs_room, router.buffer
    ('cut-through', True, 24)
    >>> published = fl.Network(fl.Torus(16, 16), fl.Router(preset="cup-stacking"))
    >>> fl.simulate(published, fl.Collective("bcmp")).duration
    65
    """

    place: ClassVar[str] = "router"

    model: Annotated[str, one_of(*pipeline.MODELS)] = "one-cycle"
    channels: Annotated[int, whole(1, pipeline.CHANNELS)] | None = None
    buffer: Annotated[int, whole(1, LIMITS["buffer"], "flits")] = 4
    latency: Annotated[int, whole(1, LIMITS["latency"], "cycles")] = 1
    flow_control: Annotated[str, one_of(*LISTS["flow_controls"])] = "wormhole"
    datelines: Annotated[str, one_of(*LISTS["datelines"])] = "both"
    grant_needs_room: Annotated[bool, Checked(boolean, {"type": "boolean"})] = False
    processor_queues: Annotated[str, one_of(*LISTS["processor_queues"])] = "one"
    arbitration: Annotated[
        str | tuple[str, ...],
        Checked(parse_arbitration, {"anyOf": [_SCHEME, listed(_SCHEME, _MOST_PORTS)]}),
    ] = "C00"
    queue_order: Annotated[
        tuple[int, ...],
        Checked(each(whole_number(0, _LAST_PORT), _MOST_ORDERED), listed(_PORT, _MOST_ORDERED)),
    ] = ()
    routing: Annotated[str, Checked(parse_routing, {"enum": [*ROUTING_NAMES]})] = "do"
    ties: Annotated[str, one_of(*LISTS["tie_rules"])] = "wrap"
    variant: Annotated[str, one_of(*LISTS["variants"])] = "queues"
    north: Annotated[str, one_of(*LISTS["norths"])] = "+y"
    routing_delay: Annotated[int, whole(0, 1000, "cycles")] | None = None
    crossbar_delay: Annotated[int, whole(1, 1000, "cycles")] | None = None
    credit_delay: Annotated[int, whole(0, 1000, "cycles")] | None = None
    vc_allocator: Annotated[str, Checked(text, {"type": "string"})] | None = None
    switch_allocator: Annotated[str, Checked(text, {"type": "string"})] | None = None
    speculative: Annotated[bool, Checked(boolean, {"type": "boolean"})] | None = None
    speculative_allocator: Annotated[str, Checked(text, {"type": "string"})] | None = None
    input_speedup: Annotated[int, whole(1, 64)] | None = None
    output_speedup: Annotated[int, whole(1, 64)] | None = None
    internal_speedup: Annotated[float, real(1, 64)] | None = None
    output_buffer: Annotated[int, whole(-1, 1 << 20, "flits")] | None = None
    buffer_policy: Annotated[str, one_of(*pipeline.POLICIES)] | None = None
    priority: Annotated[str, one_of(*pipeline.PRIORITIES)] | None = None
    wait_for_tail_credit: Annotated[bool, Checked(boolean, {"type": "boolean"})] | None = None
    reply_length: Annotated[int, whole(1, 1 << 16, "flits")] | None = None
    reply_places: Annotated[int, whole(1, 1 << 20, "requests")] | None = None
    message_classes: Annotated[int, whole(1, 2)] | None = None
    options: Annotated[dict[str, str], Checked(options_of, OPTIONS)] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            model: Literal["one-cycle", "pipelined"] | str = "one-cycle",
            channels: int | None = None,
            buffer: int = 4,
            latency: int = 1,
            flow_control: Literal["wormhole", "cut-through", "bubble"] | str = "wormhole",
            datelines: Literal["both", "wrap", "passing", "checkerboard"] | str = "both",
            grant_needs_room: bool = False,
            processor_queues: Literal["one", "per-direction"] | str = "one",
            arbitration: SchemeName | str | Sequence[str] = "C00",
            queue_order: Sequence[int] = (),
            routing: RoutingName | str = "do",
            ties: Literal["wrap", "balanced"] | str = "wrap",
            variant: Literal["queues", "registers"] | str = "queues",
            north: Literal["+y", "-y"] | str = "+y",
            routing_delay: int | None = None,
            crossbar_delay: int | None = None,
            credit_delay: int | None = None,
            vc_allocator: str | None = None,
            switch_allocator: str | None = None,
            speculative: bool | None = None,
            speculative_allocator: str | None = None,
            input_speedup: int | None = None,
            output_speedup: int | None = None,
            internal_speedup: float | None = None,
            output_buffer: int | None = None,
            buffer_policy: str | None = None,
            priority: str | None = None,
            wait_for_tail_credit: bool | None = None,
            reply_length: int | None = None,
            reply_places: int | None = None,
            message_classes: int | None = None,
            options: Mapping[str, str] | None = None,
            preset: Literal["machine", "t15", "s07", "cup-stacking"] | str | None = None,
        ) -> None: ...

    @property
    def is_own_way(self) -> bool:
        """Whether routes in a grid are those of `routing`, and no others that options of BookSim2 give.

        >>> torus = {"topology": "torus", "routing_function": "dim_order"}
        >>> Router().is_own_way, Router(model="pipelined", options=torus).is_own_way
        (True, False)
        """
        options = self.options
        return options is None or (
            options.get("topology") == "mesh" and options.get("routing_function") in {"dor", "dim_order"}
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """A preset may be given, too, which is not a field."""
        found = handler.resolve_ref_schema(handler(schema))
        found["properties"]["preset"] = {"enum": [*PRESETS]}
        return found

    @model_serializer(mode="wrap")
    def _without_the_other_model(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write no fields of pipelined routers for others, so that what names a spec by them stays."""
        written: dict[str, Any] = handler(self)
        if self.ties == "wrap":
            written.pop("ties", None)
        if self.options is None:
            written.pop("options", None)
        if self.model == pipeline.MODELS[0]:
            return {
                name: value for name, value in written.items() if name not in {"model", *pipeline.PIPELINED}
            }
        return written

    @field_validator("channels", mode="before")
    @classmethod
    def _as_many_as_the_model_has(cls, value: Any, info: ValidationInfo) -> Any:
        is_pipelined = info.data.get("model") == "pipelined"
        return value if value is None or is_pipelined else pipeline.few_channels(value, info)

    @model_validator(mode="before")
    @classmethod
    def _start_from_preset(cls, data: Any) -> Any:
        """Replace the name of a preset by its fields, so that a spec says what it is."""
        if isinstance(data, dict):
            data = pipeline.checked(data)
        if isinstance(data, dict) and data.get("preset", "") is None:
            data = {name: value for name, value in data.items() if name != "preset"}
        elif isinstance(data, dict) and "preset" in data:
            problems = Problems()
            try:
                _preset(data["preset"], None)
            except PydanticCustomError as error:
                problems.add("preset", error)
            problems.end()
            fields = dict(PRESETS[data["preset"]])
            if data.get("routing") is not None:
                # As many as the function needs: three for those of the papers.
                fields.pop("channels", None)
            data = {**fields, **{name: value for name, value in data.items() if name != "preset"}}
        if isinstance(data, dict) and data.get("variant") == "registers":
            data = {"datelines": "passing", **data}
        return data
