"""Fabrics as a page shows them: switches, cables, hosts, and the loads of tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.layout import stand
from flitloom.fabric.recognition import Recognition, recognise
from flitloom.ground.numerals import counted
from flitloom.view.pack import Packer
from flitloom.view.wires import Point, Wiring, drawn, in_planes, straight_or_rim

if TYPE_CHECKING:
    from flitloom.fabric import Subnet
    from flitloom.tables.by_destination.checking import SubnetReport

#: Missing and wrong parts that are named.
NAMED = 8


@dataclass
class Cables:
    """A fabric for a page.

    Attributes
    ----------
    subnet : Subnet
        The fabric.
    report : SubnetReport, optional
        What was found of its tables, whose loads are shown.
    title : str
        What a page calls it.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.view import Cables
    >>> ring = parse_fabric("a,1,b,1\\nb,2,c,1\\nc,2,a,2\\n", "ring.csv")
    >>> Cables(ring).all_facts()["switches"]
    3
    """

    subnet: Subnet
    report: SubnetReport | None = None
    title: str = ""
    found: Recognition = field(init=False)

    def __post_init__(self) -> None:
        self.found = recognise(self.subnet)
        self.title = self.title or self.found.describe()

    def all_facts(self) -> dict[str, Any]:
        """Totals by name."""
        subnet, found, report = self.subnet, self.found, self.report
        facts: dict[str, Any] = {
            "fabric": found.describe(),
            "switches": len(subnet.switches),
            "hosts": len(subnet.hosts),
            "cables": len(subnet.cables),
        }
        gone = [f"switch at ({','.join(map(str, place))})" for place in found.missing_switches]
        gone += [f"cable {found.place(a)} - {found.place(b)}" for a, b in found.missing_cables]
        wrong = [subnet.channel_name(2 * cable).replace("->", "-") for cable in found.misfits]
        for name, parts in (("missing", gone), ("plugged wrong", wrong)):
            if parts:
                more = f" and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
                facts[name] = ", ".join(parts[:NAMED]) + more
        if report is not None:
            facts["largest load"] = f"{counted(report.max_load, 'pair')} of hosts"
            facts["lower bound"] = f"{report.bound} pairs of hosts ({report.bound_proof})"
            facts["deadlock"] = "possible" if report.deadlock else "none"
            facts["unreachable"] = f"{counted(report.unreachable, 'pair')} of hosts"
        return facts

    def head(self, packer: Packer) -> dict[str, Any]:
        """What the page needs to know; its columns go to `packer`."""
        made, order = self.wiring()
        columns = {}
        if self.report is not None:
            columns["load"] = packer.add(np.asarray(self.report.loads, dtype=np.int64)[order])
        hosts = Counter(host.switch for host in self.subnet.hosts)
        texts = [str(hosts[node] or "") for node in range(len(self.subnet.switches))]
        return {
            "kind": "tables",
            "title": self.title,
            "unit": "pairs of hosts",
            "fabric": made.head(packer),
            "texts": texts + [""] * (len(made.fields["names"]) - len(texts)),
            "text_words": ["", " hosts"],
            "numbers": "hosts at a switch",
            "facts": self.all_facts(),
            "columns": columns,
        }

    def wiring(self) -> tuple[Wiring, NDArray[np.int64]]:
        """How it is drawn, and the channel of every link of the drawing."""
        subnet, found = self.subnet, self.found
        names = [switch.name for switch in subnet.switches]
        places = self._places()
        names += [f"missing ({','.join(map(str, place))})" for place in found.missing_switches]
        channels: dict[tuple[int, int], list[int]] = {}
        for number, cable in enumerate(subnet.cables):
            channels.setdefault((cable.a, cable.b), []).append(2 * number)
            channels.setdefault((cable.b, cable.a), []).append(2 * number + 1)
        labels: list[list[Any]] = []
        grid = None if found.service else found.grid()
        if grid and len(found.sizes) > 2:
            tops = [n for n, at in enumerate(found.coordinates) if at[0] == 0 and at[1] == found.sizes[1] - 1]
            for node in tops:
                text = " ".join(
                    f"{d}={at}" for d, at in zip("zuvw", found.coordinates[node][2:], strict=False)
                )
                labels.append([text, places[node][0], places[node][1] + 0.8])
        pairs = {ends: len(members) for ends, members in channels.items()}
        made = drawn(
            names,
            places,
            pairs,
            straight_or_rim(found.coordinates, found.sizes, found.wraps, places) if grid else None,
            labels,
            range(len(subnet.switches), len(names)),
        )
        order = np.zeros(made.count, dtype=np.int64)
        for ends, members in channels.items():
            order[made.links[ends]] = members
        return made, order

    def _places(self) -> list[Point]:
        """Of switches, and of those that are missing. Full meshes would hide links in planes."""
        found = self.found
        if not found.grid() or found.service:
            return stand(found)
        return in_planes(found.sizes, [*found.coordinates, *found.missing_switches])
