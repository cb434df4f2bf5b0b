"""Cables, switches and hosts of a fabric on ibsim go and come back, one after the other; tables follow them.

`make fabric` draws ten fabrics with 50 events each.
"""

import os
import random
import re
from collections import Counter
from itertools import pairwise

import pytest

from fabrics import failed
from flitloom import _core
from flitloom.fabric import check_mixture, check_subnet, read_fabric, route_subnet
from flitloom.tables.by_destination.tables import read_forwarding
from opensm_lab import graph, judge, lab, lane_lines, missing, netlist

FULL = os.environ.get("FLITLOOM_FABRIC") == "full"
pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing() or "-"), pytest.mark.long]
#: Fabrics by sizes, cables and switches missing, or by name, and how many events.
CASES = [(((4, 4), 0, 0), 6)]
if FULL:
    TORI = [((4, 4), 0, 0), ((6, 4), 0, 0), ((6, 6), 0, 0), ((6, 6), 4, 1)]
    TORI += [((8, 8), 0, 0), ((4, 4, 4), 0, 0), ((4, 4, 4), 9, 1), ((3, 3, 3), 0, 0)]
    CASES = [(fabric, 50) for fabric in (*TORI, "hyperx", "random24")]


class Events:
    """What is out on a fabric, and what goes or comes next: cables, hosts and switches."""

    def __init__(self, fabric, nodes, cables):
        self.fabric, self.draw = fabric, random.Random(1)
        named = {node: "S" + "-".join(map(str, node)) for node in nodes}
        self.ports = {f"cable {named[a]}/{p}": [(named[a], p)] for a, p, _, _ in cables}
        for node, name in named.items():
            ends = [(a, p) for a, p, _, _ in cables] + [(b, q) for _, _, b, q in cables]
            # The host of the subnet manager stays, with its switch.
            if fabric.host != f"H{name[1:]}_0":
                self.ports[f"host of {name}"] = [(name, 20)]
                self.ports[f"switch {name}"] = [(name, p) for at, p in ends if at == node] + [(name, 20)]
        self.out = []

    def next(self, back=False):
        """What goes, or comes back, as text."""
        if self.out and (back or len(self.out) == 3 or self.draw.random() < 0.4):
            what = self.out.pop(self.draw.randrange(len(self.out)))
            self._tell("ReLink", what)
            return f"{what} is back"
        # What is out comes back as a whole, so no part of it goes twice.
        taken = [what.split()[-1].split("/")[0] for what in self.out]
        free = [what for what in self.ports if what.split()[-1].split("/")[0] not in taken]
        what = self.draw.choice(free)
        self.out.append(what)
        self._tell("Unlink", what)
        return f"{what} is out"

    def _tell(self, word, what):
        for node, port in self.ports[what]:
            self.fabric.console(f'{word} "{node}"[{port}]')


def stages(out, new):
    """The folders from one to another, as STAGES.txt has them."""
    file = new / "STAGES.txt"
    text = file.read_text().partition("The way back")[0] if file.exists() else ""
    named = re.findall(r"check --fabric now\.topo \S+ --mix (\S+)", text)
    return [out, *(new / name.removeprefix("$NEXT").strip("/") for name in named or ["$NEXT"])]


@pytest.mark.parametrize(("what", "count"), CASES)
def test_tables_follow_what_goes_and_comes_back(tmp_path, what, count):
    nodes, cables = graph(what) if isinstance(what, str) else failed(*what, 1)
    stops, moved, unsafe = 0, 0, Counter()
    with lab(tmp_path, netlist(nodes, cables)) as fabric:
        fabric.opensm("start")
        first = out = route_subnet(read_fabric(fabric.discover())).write(tmp_path / "first")
        events, number = Events(fabric, nodes, cables), 0
        while number < count or events.out:
            number += 1
            event = events.next(number >= count)
            subnet = read_fabric(fabric.discover())
            tables = route_subnet(subnet, old=out)
            new = tables.write(tmp_path / str(number))
            # No pair is lost but those that no cable joins.
            _, apart = _core.fabric_bound(subnet.core())
            report = check_subnet(subnet, new)
            assert (report.unreachable, report.deadlock) == (apart, False), event
            kinds = {kind.kind: kind.deadlock for kind in report.kinds}
            assert kinds["both ways"] is False, event
            if tables.update.safe:
                for one, other in pairwise(stages(out, new)):
                    assert check_mixture(subnet, one, other).passed, (event, one, other)
            unsafe["managers"] += kinds["managers"] is not False
            unsafe["multicast"] += kinds["multicast"] is not False
            stops += not tables.update.safe
            moved += tables.update.moved > 0
            options = [
                word
                for option, name in (("-Y", "qos-policy.conf"), ("-P", "partitions.conf"))
                if (new / name).exists()
                for word in (option, str(new / name))
            ]
            load = ["-R", "file,no_fallback", "-U", str(new / "opensm-lfts.dump"), *options]
            dumped = fabric.opensm(f"opensm-{number}", *load)
            lids = [host.lid for host in subnet.hosts]
            ours, theirs = (
                read_forwarding(subnet, folder / "opensm-lfts.dump", strict=False)[0][:, lids]
                for folder in (new, dumped)
            )
            assert (ours == theirs).all(), event
            levels = new / "path-sl.txt"
            if levels.exists():
                # ibdmchk gives up where a host is not there.
                named = {f"0x{host.guid:016x}" for host in subnet.hosts}
                rows = levels.read_text().splitlines(keepends=True)
                levels = tmp_path / "levels.txt"
                told = (row.split() for row in rows)
                levels.write_text(
                    "".join(" ".join(row) + "\n" for row in told if row[0] in named and int(row[1]) in lids)
                )
            assert not judge(dumped, levels if levels.exists() else None, lane_lines(dumped))[0], event
            out = new
        assert {file.name: file.read_bytes() for file in first.iterdir() if file.name in SAME} == {
            file.name: file.read_bytes() for file in out.iterdir() if file.name in SAME
        }
    print(f"{what}: {number} events, {stops} stops, {moved} moved levels, not safe {dict(unsafe)}")


#: Files of the first tables that are there again, byte for byte, when all is back.
SAME = ("opensm-lfts.dump", "path-sl.txt", "qos-policy.conf", "partitions.conf", "slvl.txt", "sl2vl.dump")
