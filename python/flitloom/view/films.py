"""Films: all that moves in a simulation, as a page shows it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flitloom.errors import SpecError
from flitloom.ground.notebook import frame_html
from flitloom.ground.numerals import counted
from flitloom.networks.experiment import Experiment
from flitloom.networks.network import Network, network_of
from flitloom.networks.pipelined import is_pipelined, timing
from flitloom.networks.running import filmed
from flitloom.spec.any_traffic import AnyTraffic
from flitloom.spec.ground import Ground
from flitloom.view.pack import Packer
from flitloom.view.text import FRAME_HEIGHT, origin, page_text
from flitloom.view.widgets import widget
from flitloom.view.wires import grid_fields, twist_facts

if TYPE_CHECKING:
    from flitloom.plans.plan import Plan
    from flitloom.run.result import Result
    from flitloom.view.frame import PageWidget

#: Links times cycles of a film; more would neither fit into a page nor play.
CELLS = 1 << 26


@dataclass
class Film:
    """One simulation from its first cycle to its end, or to the deadlock it ended in.

    Attributes
    ----------
    title : str
        What it shows.
    network : Network
        The network.
    spec : Experiment
        What was simulated.
    raw : dict
        Columns of link states, packets and hops, and how it ended.
    bound : tuple of (int, str), optional
        Lower bound in cycles and what it rests on, as text.
    bottleneck : dict
        The same for the page: `bottleneck_link`, or `bottleneck_nodes`.
    facts : dict
        Further numbers to show, by name.
    """

    title: str
    network: Network
    spec: Experiment
    raw: dict[str, Any]
    bound: tuple[int, str] | None
    bottleneck: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def deadlocked(self) -> bool:
        """Whether it ends in a deadlock."""
        return "deadlock" in self.raw

    @property
    def length(self) -> int:
        """Cycles of it."""
        cells, width = self.raw["link_time"]
        return int(cells.size // width)

    def cut(self, until: int) -> Film:
        """Its part before a cycle."""
        cells, width = self.raw["link_time"]
        packets, hops = self.raw["packets"], self.raw["hops"]
        # Of hops the packets are known by their places.
        stays = packets["injected"] < until
        places = np.cumsum(stays) - 1
        begun = (hops["head"] < until) & stays[hops["packet"]]
        left = {name: values[begun] for name, values in hops.items()}
        left["packet"] = places[left["packet"]]
        left["last"] = np.minimum(left["last"], until - 1)
        raw = {
            "link_time": (cells[: until * width], width),
            "packets": {name: values[stays] for name, values in packets.items()},
            "hops": left,
            "limit": until,
        }
        return replace(self, raw=raw)

    def _repr_html_(self) -> str:
        """The page, in a frame of a notebook."""
        return frame_html(page_text([self]), FRAME_HEIGHT)

    def widget(self, **traits: Any) -> PageWidget:
        """The page as a widget of a notebook; see `flitloom.view.widget`."""
        return widget(self, **traits)

    def require(self, fingerprint: str, place: object) -> None:
        """Refuse a film that does not show what another simulation of the same spec did."""
        made = self.raw.get("totals", {}).get("fingerprint")
        if made is None or f"{made:016x}" != fingerprint:
            raise SpecError(
                f"{place}: {origin()} simulates this spec with another outcome than the version that made it"
            )

    def head(self, packer: Packer) -> dict[str, Any]:
        """What the page needs to know of it; its columns go to `packer`."""
        cells, width = self.raw["link_time"]
        packets, hops = self.raw["packets"], self.raw["hops"]
        # After the last flit on a link there are cycles of ejections.
        cycles = max(cells.size // width, self.raw.get("totals", {}).get("cycles", 0))
        cells = np.concatenate([cells, np.zeros(cycles * width - cells.size, dtype=cells.dtype)])
        # Hops by packet, each packet's in the order of its way.
        order = np.lexsort((hops["head"], hops["packet"]))
        columns = {
            # Link by link: what a link does changes seldom, which packs well.
            "link_time": cells.reshape(cycles, width).T,
            **{name: packets[name] for name in ("source", "destination", "slice", "start", "injected")},
            "arrival": packets["tail_arrival"],
            **{name: hops[name][order] for name in ("packet", "link", "channel", "head", "flits")},
            "duration": (hops["last"] - hops["head"])[order],
        }
        slices = int(packets["slice"].max()) + 1 if packets["slice"].size else 0
        return {
            "kind": "run",
            "title": self.title,
            "fabric": grid_fields(self.network.topology),
            "cycles": cycles,
            "slices": slices,
            **self.spec.traffic.drawn,
            **_timing(self.network),
            "bound": None if self.bound is None else self.bound[0],
            **self.bottleneck,
            "deadlock": self._deadlock(),
            "facts": self.all_facts(),
            "columns": {name: packer.add(values) for name, values in columns.items()},
        }

    def all_facts(self) -> dict[str, Any]:
        """Totals by name, and the further facts."""
        facts: dict[str, Any] = {}
        totals = self.raw.get("totals")
        if self.deadlocked:
            deadlock = self.raw["deadlock"]
            facts["outcome"] = (
                f"deadlock in cycle {deadlock['cycle']}, "
                f"{counted(deadlock['stuck_flits'], 'flit')} stuck for ever"
            )
        elif totals is None:
            facts["outcome"] = f"not finished after {counted(self.raw['limit'], 'cycle')}"
        else:
            facts["duration"] = counted(totals["duration"], "cycle")
        if self.bound is not None:
            facts["lower bound"] = counted(self.bound[0], "cycle")
            facts["bottleneck"] = self.bound[1]
        arrival = self.raw["packets"]["tail_arrival"]
        facts["packets delivered"] = f"{int((arrival >= 0).sum())} of {arrival.size} injected"
        facts["flits over links"] = int(self.raw["hops"]["flits"].sum())
        if totals is not None:
            facts["fingerprint"] = f"{totals['fingerprint']:016x}"
        return facts | twist_facts(self.network.topology) | self.facts

    def _deadlock(self) -> dict[str, Any] | None:
        """Links on which the flits of the deadlock arrived, and its channels as text."""
        if not self.deadlocked:
            return None
        links, words = [], []
        channels = self.raw["deadlock"]["channels"]
        for index, waiting in enumerate(channels):
            if "queue" in waiting:
                words.append(f"{waiting['queue']} waits for {channels[(index + 1) % len(channels)]['queue']}")
                links += [waiting["link"]] if waiting.get("link") is not None else []
                continue
            place = ",".join(map(str, self.network.coordinates(waiting["node"])))
            came = waiting["arrived_along"]
            wants = waiting["wants"] or "the processor"
            words.append(
                f"at ({place}), arrived along {came or 'no link'} in channel {waiting['channel']}, "
                f"waits for {wants} in channel {waiting['wants_channel']}"
            )
            if came is not None:
                links.append(_link_into(waiting["node"], came, self.network))
        return {"cycle": self.raw["deadlock"]["cycle"], "links": links, "words": words}


def film(
    network: Network | str | Path,
    traffic: AnyTraffic | Plan,
    title: str | None = None,
    *,
    seed: int = 1,
    stop_at: int | None = None,
    cycle_limit: int | None = None,
    throttle: str = "none",
    facts: dict[str, Any] | None = None,
) -> Film:
    """Simulate traffic and keep all that moves; a deadlock is a film too.

    Parameters
    ----------
    network, traffic, seed, stop_at, cycle_limit, throttle
        As for `flitloom.simulate`.
    title : str, optional
        What the page calls it; by default pattern, shape and payload.
    facts : dict, optional
        Further numbers to show, by name.

    Raises
    ------
    SpecError
        The film would be too long for a page.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.view import film, write_page
    >>> made = film(fl.Network(fl.Torus(8, 8)), fl.Collective("shfl", payload=14, slices=2, interval=40))
    >>> made.title
    'shfl on 8x8 torus, 14 payload flits in 2 slices'
    >>> write_page([made], "shfl.html") # doctest: +SKIP
    """
    network = network_of(network)
    if not isinstance(traffic, AnyTraffic):
        plan, network = traffic, traffic.arbitrated(network)
        title = title or plan.traffic
        traffic = plan.as_packets(network)
    network.topology.require_rings("pages that move are")
    spec = Experiment(
        topology=network.topology,
        router=network.router,
        traffic=traffic,
        seed=seed,
        stop_at=stop_at,
        cycle_limit=cycle_limit,
        throttle=throttle,
    )
    width = network.nodes * 2 * len(network.topology.sizes)
    longest = CELLS // width
    asked = min(stop_at or longest + 1, cycle_limit or longest + 1)
    workload = traffic.workload(network, seed)
    limit = min(asked, longest + 1)
    raw = filmed(network, workload, spec, limit)
    if raw.get("limit", 0) > longest:
        raise SpecError.at(
            "stop_at",
            f"a page of this network holds {counted(longest, 'cycle')}, and not everything is "
            "delivered by then",
            f"stop earlier, e.g. with --stop-at {min(longest, 1000)}",
        )
    made = Film(title or traffic.describe(network), network, spec, raw, None, facts=facts or {})
    bound = network.route_bound(workload)
    if bound is not None:
        made.bound = bound[:2]
        made.bottleneck = (
            {"bottleneck_nodes": bound[2]} if bound[3] is None else {"bottleneck_link": bound[3]}
        )
    return made


def film_of(result: Result, title: str | None = None) -> Film:
    """The film of a simulation that was made before, simulated again to the same bit."""
    spec = result.spec
    made = film(
        result.network,
        spec.traffic,
        title,
        seed=spec.seed,
        stop_at=spec.stop_at,
        cycle_limit=spec.cycle_limit,
        throttle=spec.throttle,
    )
    made.require(result.fingerprint, "result")
    return made


def _timing(network: Network) -> dict[str, int]:
    """Cycles that a header takes where nothing hinders it."""
    if is_pipelined(network):
        return timing(network.router)
    return {"latency": network.router.latency}


def _link_into(node: int, direction: str, network: Network) -> int:
    """The link in a direction that ends at a node."""
    index = network.directions.index(direction)
    ground = Ground(network.topology)
    came = list(ground.point(node))
    came[index // 2] += 1 if index % 2 else -1
    return ground.number(ground.normal(came)) * len(network.directions) + index
