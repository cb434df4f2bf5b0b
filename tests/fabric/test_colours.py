"""Tables of two-coloured networks whose lanes rise from hop to hop, on routers of one's own."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import flitloom as fl
from fabrics import command, torus_cables
from flitloom.errors import SpecError
from flitloom.fabric import Subnet, check_mixture, check_subnet, parse_fabric, route_subnet
from flitloom.networks.fabric import Fabric
from flitloom.run.tables_in_motion import all_to_all, send_packets


def two_sides(half: int, degree: int, seed: int) -> str:
    """Cables of a graph of two sides, each switch with so many cables to the other one."""
    draw = random.Random(seed)
    ends = [draw.sample(range(half), half) for _ in range(degree)]
    rows = {f"a{switch},b{other}" for row in ends for switch, other in enumerate(row)}
    return "\n".join(sorted(rows)) + "\n"


@pytest.fixture(scope="module", name="drawn")
def _drawn() -> Subnet:
    return parse_fabric(two_sides(24, 4, 3))


@pytest.fixture(name="told")
def _told(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints, and with an error what that says."""

    def run(*words: object, code: int = 0) -> str:
        ended, out, error = command(capsys, *words)
        assert ended == code, error
        return str(error + out if code else out)

    return run


def lanes_along(tables: fl.fabric.SubnetTables) -> list[list[tuple[int, int]]]:
    """Of every pair of hosts the switch and the lane of each hop, by the rule of the tables alone."""
    subnet, found = tables.subnet, []
    ends = [end for cable in subnet.cables for end in ((cable.a, cable.b), (cable.b, cable.a))]
    for row, owner in enumerate(tables.owners.tolist()):
        for host in subnet.hosts:
            at, lane, hops = host.switch, 0, []
            while at != subnet.hosts[owner].switch:
                lane += int(bool(hops) and bool(tables.rising[at]))
                hops.append((at, lane))
                at = ends[int(tables.following[row, at])][1]
            found.append(hops)
    return found


def test_numbers_by_lane_and_switch_rise_along_every_hop(drawn: Subnet) -> None:
    made = route_subnet(drawn, method="colours", lanes=4)
    assert (made.mode, made.method, made.report.passed) == ("rising", "colours", True)
    assert made.report.max_load <= made.bound["value"] + 2
    routes = lanes_along(made)
    assert all(
        2 * one[1] + (not made.rising[one[0]]) < 2 * other[1] + (not made.rising[other[0]])
        for hops in routes
        for one, other in pairwise(hops)
    )
    assert made.lanes == 1 + max(hop[1] for hops in routes for hop in hops) == made.report.lanes


def test_few_lanes_carry_less_than_levels_do() -> None:
    drawn = parse_fabric(two_sides(64, 6, 3))
    made = route_subnet(drawn, method="colours", lanes=3)
    usual = route_subnet(drawn, lanes=3, safe_for=())
    assert (made.lanes, made.report.max_load) == (3, made.bound["value"])
    assert 1.5 * made.report.max_load < usual.report.max_load


def test_what_is_written_is_read_checked_and_certified(
    drawn: Subnet, tmp_path: Path, told: Callable[..., str]
) -> None:
    graph, out, proof = tmp_path / "g.csv", tmp_path / "out", tmp_path / "c.json"
    graph.write_text(two_sides(24, 4, 3))
    asked = ("route", "--graph", graph, "--method", "colours", "--lanes", 4)
    answer = told(*asked, "-o", out, "--certificate", proof)
    assert "4 of 4, mode rising" in answer
    assert "not judged: routers of your own have no subnet manager" in answer
    assert {"lane-rises.txt", "opensm-lfts.dump", "README.txt"} <= {file.name for file in out.iterdir()}
    assert not {"sl2vl.dump", "slvl.txt", "path-sl.txt", "qos-policy.conf"} & {f.name for f in out.iterdir()}
    readme = (out / "README.txt").read_text()
    assert readme.startswith("Not to be loaded: lanes rise from hop to hop")
    assert "opensm -R" not in readme
    checked = json.loads(told("check", "--graph", graph, out, "--json"))
    made = route_subnet(drawn, method="colours", lanes=4)
    assert (checked["max_load"], checked["lanes"], checked["deadlock"]) == (made.report.max_load, 4, False)
    assert "holds for" in told("recheck", out, proof)
    # Without its lanes, or with those of other switches, the same proof is refused.
    rises = (out / "lane-rises.txt").read_text()
    (out / "lane-rises.txt").write_text(rises.rsplit("0x", 1)[0])
    assert "rank does not rise" in told("recheck", out, proof, code=1)
    # On fewer lanes than they need packets share the last one, and can wait in a circle.
    (out / "lane-rises.txt").write_text(rises)
    assert check_subnet(drawn, out, lanes=1).deadlock
    # Other tables that are written there take the file away.
    route_subnet(drawn).write(out)
    assert not (out / "lane-rises.txt").exists()
    assert (out / "sl2vl.dump").exists()


def test_packets_above_saturation_arrive_on_lanes_that_rise(tmp_path: Path) -> None:
    file, out = tmp_path / "g.csv", tmp_path / "out"
    file.write_text(two_sides(16, 3, 8))
    subnet = fl.tables.fabric(file)
    made = route_subnet(subnet, method="colours")
    sent = send_packets(made.forwarding(), all_to_all(len(subnet.hosts), 24), buffer=2)
    assert (sent.outcome, sent.delivered) == ("delivered", sent.packets)
    made.write(out)
    network = Fabric(graph=str(file), tables=str(out))
    router = fl.Router(model="pipelined", buffer=2, channels=made.lanes)
    load = fl.Load(pattern="rand", rate=1.0, length=8, cycles=3000)
    assert fl.Network(network, router).followed().tables.used_lanes == made.lanes
    result = fl.simulate(fl.Network(network, router), load)
    # Hosts send more than the network takes; what waits in the end still arrives.
    assert result.packets_delivered == result.packets_injected > 0.9 * 32 * 3000 / 8
    assert result.duration > 1.2 * 3000


def test_an_odd_cycle_is_named() -> None:
    assert route_subnet(parse_fabric("a,b\nb,c\nc,d\nd,e\ne,b\n"), method="colours").lanes == 2
    with pytest.raises(SpecError, match="b - c - d - b"):
        route_subnet(parse_fabric("a,b\nb,c\nc,d\nd,b\n"), method="colours")


def test_too_few_lanes_are_told_how_many_it_needs(drawn: Subnet) -> None:
    with pytest.raises(SpecError) as refused:
        route_subnet(drawn, method="colours", lanes=1)
    needed = route_subnet(drawn, method="colours").lanes
    assert str(refused.value) == (
        f"--lanes: colours needs {needed} lanes on minimal routes, not 1; write {needed} or more"
    )


def test_subnets_and_what_belongs_to_them_are_refused(
    drawn: Subnet, tmp_path: Path, told: Callable[..., str]
) -> None:
    running = parse_fabric(route_subnet(drawn).write(tmp_path / "out").joinpath("fabric.topo").read_text())
    with pytest.raises(SpecError, match="colours is not for subnets: lanes rise from hop to hop"):
        route_subnet(running, method="colours")
    for given in ({"mode": "portable"}, {"spare_lanes": 1}, {"old": tmp_path}):
        with pytest.raises(SpecError, match="does not go with --method colours"):
            route_subnet(drawn, method="colours", **given)
    graph, out = tmp_path / "g.csv", tmp_path / "rising"
    graph.write_text(two_sides(24, 4, 3))
    assert "--survive: does not go with --method colours" in told(
        "route", "--graph", graph, "--method", "colours", "--survive", "cables", code=2
    )
    route_subnet(drawn, method="colours").write(out)
    for given in (("--from", out), ("--critical", "--from", out)):
        assert "a repair is for tables of subnets" in told("route", "--graph", graph, *given, code=2)
    with pytest.raises(SpecError, match="a mixture is for tables of subnets"):
        check_mixture(drawn, out, out)
    (out / "lane-rises.txt").write_text("one\n")
    with pytest.raises(SpecError, match="line 1: 'one' names no switch; write its GUID"):
        check_subnet(drawn, out)
    (out / "lane-rises.txt").write_text("0x123456\n")
    with pytest.raises(SpecError, match="switch 0x123456 is not in the network"):
        check_subnet(drawn, out)


def test_a_damaged_even_torus_has_two_colours() -> None:
    _, cables = torus_cables((4, 4))
    rows = [f"s{'-'.join(map(str, a))},s{'-'.join(map(str, b))}" for a, _, b, _ in cables]
    whole = route_subnet(parse_fabric("\n".join(rows)), method="colours")
    less = route_subnet(parse_fabric("\n".join(rows[1:])), method="colours")
    assert (whole.report.passed, less.report.passed) == (True, True)
    assert (whole.lanes, less.lanes) == (3, 3)
