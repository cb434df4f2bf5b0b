"""Tables of a torus or mesh on which switches are hung: balanced behind the cables that join these to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition
from flitloom.tables.by_destination.checking import SubnetReport
from flitloom.tables.by_destination.tables import NONE
from flitloom.tables.traffic import Demand


@dataclass(frozen=True)
class Behind:
    """What tables have behind the busiest channel, where that joins a hung switch.

    Attributes
    ----------
    bottleneck : str
        That channel.
    load : int
        The largest load of all channels between other switches.
    bound : int
        What no tables can go below there.
    """

    bottleneck: str
    load: int
    bound: int

    def describe(self) -> str:
        """In a few words.

        Examples
        --------
        >>> Behind("a/1 -> b/1", 30, 29).describe()
        'on a/1 -> b/1, which joins a hung switch; at most 30 on others, lower bound 29'
        """
        others = f"at most {self.load} on others, lower bound {self.bound}"
        return f"on {self.bottleneck}, which joins a hung switch; {others}"


@dataclass(frozen=True)
class Hanging:
    """A fabric, and the same with the hosts of hung switches at the switches that these are joined to.

    Every route between both passes that cable, so no table has less on it: what can be balanced is the rest.

    Attributes
    ----------
    whole : Subnet
        The fabric.
    service : dict
        Its hung switches, each with the one that it is joined to, the first of two.
    left : list of int
        The other switches.
    cables : list of int
        Cables between these.
    """

    whole: Subnet
    service: Mapping[int, int]
    left: list[int]
    cables: list[int]

    @classmethod
    def of(cls, found: Recognition, all_pairs: bool) -> Hanging | None:
        """What hangs on a recognised torus or mesh; None where it is on two switches and some pairs count."""
        service = {switch: joined[0] for switch, joined in found.service.items()}
        left = [switch for switch in range(len(found.subnet.switches)) if switch not in service]
        ends = [(cable.a, cable.b) for cable in found.subnet.cables]
        cables = [number for number, pair in enumerate(ends) if not set(pair) & service.keys()]
        between = any(len(joined) > 1 for joined in found.service.values())
        if between and not all_pairs:
            return None
        parts = (found.subnet, service, left, cables)
        return HangingBetween(*parts, found) if between else cls(*parts)

    def part(self, found: Recognition) -> Recognition:
        """The recognised torus or mesh alone, with all hosts."""
        number = {switch: at for at, switch in enumerate(self.left)}

        def at(switch: int) -> int:
            return number[self.service.get(switch, switch)]

        whole = self.whole
        hosts = tuple(replace(host, switch=at(host.switch)) for host in whole.hosts)
        cables = (whole.cables[number] for number in self.cables)
        joined = tuple(replace(cable, a=at(cable.a), b=at(cable.b)) for cable in cables)
        switches = tuple(whole.switches[switch] for switch in self.left)
        subnet = replace(whole, switches=switches, hosts=hosts, cables=joined)
        return replace(
            found,
            subnet=subnet,
            coordinates=tuple(found.coordinates[switch] for switch in self.left),
            service={},
        )

    def demands(self, demand: Demand | None, _roots: list[int]) -> list[Demand | None]:
        """Pairs that count, by the switches that are left."""
        if demand is None:
            return [None]
        pairs, hosts = demand.pairs.copy(), None if demand.hosts is None else list(demand.hosts)
        for switch, at in self.service.items():
            pairs[:, at] += pairs[:, switch]
            if hosts is not None:
                hosts[at] += hosts[switch]
        left = None if hosts is None else [hosts[switch] for switch in self.left]
        return [Demand(np.ascontiguousarray(pairs[:, self.left]), left)]

    def with_hung(self, made: dict[str, Any], roots: list[int]) -> dict[str, Any]:
        """Tables of the part as those of the whole; parallel cables take destinations in turn.

        Parameters
        ----------
        made : dict
            What the core made of the part.
        roots : list of int
            The switch of every destination in the whole.
        """
        count = len(self.whole.switches)
        channels = np.append(np.array([(2 * c, 2 * c + 1) for c in self.cables]).reshape(-1), NONE)
        entries: NDArray[np.uint32] = made["next"]
        following = np.full((len(roots), count), NONE, dtype=np.uint32)
        following[:, self.left] = channels[np.minimum(entries, len(channels) - 1)]
        levels = np.zeros((len(roots), count), dtype=np.uint8)
        levels[:, self.left] = made["levels"]
        down: dict[int, list[int]] = {switch: [] for switch in self.service}
        for number, cable in enumerate(self.whole.cables):
            for switch, channel in ((cable.a, 2 * number + 1), (cable.b, 2 * number)):
                if switch in down:
                    down[switch].append(channel)
        at = np.array(roots)
        for switch, joined in self.service.items():
            turns = np.array(down[switch], dtype=np.uint32)
            here, others = np.flatnonzero(at == switch), np.flatnonzero(at != switch)
            following[here, joined] = turns[np.arange(len(here)) % len(turns)]
            following[others, switch] = turns[np.arange(len(others)) % len(turns)] ^ 1
            levels[:, switch] = levels[:, joined]
        # Routes within a switch and over the cables of hung ones alone wait for nothing.
        home = np.array([self.service.get(root, root) for root in roots])
        for switch in (*self.service, *set(self.service.values())):
            levels[home == self.service.get(switch, switch), switch] = 0
        return made | {"next": following, "levels": levels, "part": True}

    def bound(self, made: dict[str, Any]) -> int:
        """What the other channels of tables cannot go below."""
        return int(made["bound"]["value"])

    def told(self, made: dict[str, Any], report: SubnetReport) -> tuple[dict[str, Any], Behind | None]:
        """Tables with what is proven of the whole, and what is behind the busiest channel."""
        channel, load, others = self.busiest(report.loads)
        behind = Behind(self.whole.channel_name(channel), others, self.bound(made))
        whole = {"bound": report.proven, "balanced": max(made["balanced"] or 0, load)}
        return made | whole, behind if load > others else None

    def busiest(self, loads: NDArray[np.uint64]) -> tuple[int, int, int]:
        """The busiest channel of hung switches, its load, and the largest load of other channels."""
        among = np.zeros(len(loads), dtype=bool)
        for cable in self.cables:
            among[2 * cable : 2 * cable + 2] = True
        hung = np.where(among, 0, loads)
        return int(hung.argmax()), int(hung.max(initial=0)), int(loads[among].max(initial=0))


#: What a pair of hosts counts in searches in which pairs with hosts of hung switches count less.
_WHOLE = 20
#: How much these count, as shares of what would make their cables as busy as others.
_SHARES = (1.4, 1.2, 1.0, 0.8)


@dataclass(frozen=True)
class HangingBetween(Hanging):
    """The same where switches are hung on two others each: their pairs count less in some searches.

    Their cables are then no busier than others to the search, which balances all alike. Of several tables
    those with the least load on the cables of hung switches are kept, then those with the least on others.

    Attributes
    ----------
    found : Recognition
        What the fabric was recognised as.
    """

    found: Recognition

    def part(self, found: Recognition) -> Recognition:
        """The whole: routes choose between two switches."""
        return found

    @cached_property
    def others(self) -> int:
        """What the other channels cannot go below, by a network in which what a hung switch joins is one."""
        number = list(range(len(self.whole.switches)))
        for cable in self.whole.cables:
            if {cable.a, cable.b} & self.service.keys():
                one, other = number[cable.a], number[cable.b]
                number = [one if at == other else at for at in number]
        kept = [at for at in self.left if at == min(n for n in self.left if number[n] == number[at])]
        place = {number[at]: n for n, at in enumerate(kept)}
        hosts = tuple(replace(host, switch=place[number[host.switch]]) for host in self.whole.hosts)
        cables = [replace(c, a=place[number[c.a]], b=place[number[c.b]]) for c in self.whole.cables]
        joined = tuple(cable for cable in cables if cable.a != cable.b)
        switches = tuple(self.whole.switches[at] for at in kept)
        merged = replace(self.whole, switches=switches, hosts=hosts, cables=joined)
        coordinates = [list(self.found.coordinates[at]) for at in kept]
        grid = list(self.found.sizes), list(map(list, self.found.closed)), coordinates
        return _core.fabric_bound(merged.core(grid=grid))[0]

    def demands(self, _demand: Demand | None, roots: list[int]) -> list[Demand | None]:
        """All pairs, then with some weights of those with hosts of hung switches."""
        hosts = np.array(self.whole.hosts_per_switch())
        cables = Counter(switch for c in self.whole.cables for switch in {c.a, c.b} & self.service.keys())
        busiest = max(
            hosts[switch] * (hosts.sum() - hosts[switch]) / cables[switch] for switch in self.service
        )
        hung = np.isin(np.arange(len(hosts)), list(self.service))
        few = hung[roots][:, None] | hung[None, :]
        weights = {max(1, round(_WHOLE * share * self.others / max(1, busiest))) for share in _SHARES}
        pairs = [hosts[None, :] * np.where(few, weight, _WHOLE) for weight in weights if weight < _WHOLE]
        return [None, *(Demand(np.ascontiguousarray(each, dtype=np.uint32), None) for each in pairs)]

    def with_hung(self, made: dict[str, Any], _roots: list[int]) -> dict[str, Any]:
        """The tables, which are those of the whole; what they prove and how they load it is counted anew."""
        return made | {"bound": None, "balanced": None, "part": True}

    def bound(self, _made: dict[str, Any]) -> int:
        """What the other channels of any tables cannot go below."""
        return self.others
