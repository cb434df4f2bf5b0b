"""Switches that are hung on a torus, as those of storage are: what the fabric is, and its tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fabrics import command, failed, torus_cables
from flitloom.errors import SpecError
from flitloom.fabric import Recognition, Subnet, check_subnet, parse_fabric, recognise, route_subnet
from flitloom.fabric.identifiers import with_identifiers
from flitloom.fabric.torus_2qos import torus_2qos
from flitloom.fabric.torus_config import configured, parse_torus_config

Place = tuple[int, ...]


def rows(nodes: list[Place], cables: list[tuple[Place, int, Place, int]]) -> str:
    """Cables of a torus with a host at every switch, by the ports at both ends."""
    name = {node: "s" + "-".join(map(str, node)) for node in nodes}
    lines = [f"{name[a]},{p},{name[b]},{q}" for a, p, b, q in cables]
    return "\n".join([*lines, *(f"{name[node]},20,h{name[node]},1" for node in nodes)]) + "\n"


def storage(at: str, number: int = 0, hosts: int = 4, cables: int = 1) -> str:
    """A switch with hosts that is hung on another one."""
    joined = [f"{at},{30 + 4 * number + n},st{number},{n + 1}" for n in range(cables)]
    plugged = [f"st{number},{20 + n},d{number}-{n},1" for n in range(hosts)]
    return "\n".join([*joined, *plugged]) + "\n"


def torus(*sizes: int) -> str:
    return rows(*torus_cables(sizes))


def seen(text: str) -> Recognition:
    return recognise(parse_fabric(text))


@pytest.mark.parametrize("sizes", [(4,), (5,), (4, 4), (6, 5), (4, 3, 3)])
@pytest.mark.parametrize("count", [1, 2])
def test_a_torus_keeps_its_name_and_coordinates(sizes: Place, count: int) -> None:
    whole = seen(torus(*sizes))
    at = "s" + "-".join(["1"] * len(sizes))
    found = seen(torus(*sizes) + "".join(storage(at, number) for number in range(count)))
    hung = {1: "; one switch is hung on it", 2: "; two switches are hung on it"}[count]
    assert found.describe() == whole.describe() + hung
    assert (found.kind, found.sizes, found.wraps, found.closed) == (
        whole.kind, whole.sizes, whole.wraps, whole.closed,
    )  # fmt: skip
    named, own = (
        {switch.name: place for switch, place in zip(each.subnet.switches, each.coordinates, strict=True)}
        for each in (found, whole)
    )
    assert {name: place for name, place in named.items() if place} == own
    assert [named[f"st{number}"] for number in range(count)] == [()] * count
    grid = found.grid()
    assert grid is not None
    assert grid[0] == [*whole.sizes, *[2] * count]
    assert len(set(map(tuple, grid[2]))) == len(found.subnet.switches)


def between(*sizes: int) -> str:
    """A torus with a switch that is hung on two of its switches."""
    at, other = ("s" + "-".join([str(n)] * len(sizes)) for n in (0, 2))
    return torus(*sizes) + storage(at) + f"{other},31,st0,9\n"


@pytest.mark.parametrize("sizes", [(4, 4), (6, 5), (4, 3, 3)])
def test_a_switch_is_hung_on_two_others(sizes: Place) -> None:
    whole, found = seen(torus(*sizes)), seen(between(*sizes))
    assert found.describe() == whole.describe() + "; one switch is hung on it"
    last = len(found.subnet.switches) - 1
    names = {switch.name: number for number, switch in enumerate(found.subnet.switches)}
    both = ["s" + "-".join([str(n)] * len(sizes)) for n in (0, 2)]
    assert found.service == {last: tuple(sorted(names[name] for name in both))}
    own = {switch.name: place for switch, place in zip(whole.subnet.switches, whole.coordinates, strict=True)}
    places = {f"({','.join(map(str, own[name]))})" for name in both}
    assert set(found.where(last).removeprefix("at ").split(" and ")) == places


def test_torus_switches_with_two_cables_are_not_hung() -> None:
    cables = [line for line in torus(5, 5).splitlines() if not re.match("s0-0,.*,s(1-0|0-1),", line)]
    assert seen("\n".join(cables)).describe() == "5x5 torus less two cables"
    found = seen("\n".join(cables) + "\n" + storage("s2-2") + "s3-4,31,st0,9\n")
    assert found.describe() == "5x5 torus less two cables; one switch is hung on it"
    assert seen("\n".join(f"s{n},s{(n + 1) % 8}" for n in range(8)) + "\ns0,t\ns4,t\n").service == {}


def test_the_load_is_balanced_behind_cables_to_two_switches(tmp_path: Path) -> None:
    subnet = parse_fabric(between(5, 5))
    made = route_subnet(subnet)
    # Four hosts send to 13 of 25 others at least over one of two cables.
    assert made.report.max_load == made.bound["value"] == 52
    assert made.report.bound_proof.startswith("the cables from the switch st0, one to a destination")
    assert made.behind is not None
    fullest, others = loads(made.subnet, made.recognition, made.report.loads)
    assert (fullest, others) == (52, made.behind.load)
    # As a graph the others have up to 51 pairs.
    assert made.behind.bound <= others <= 40
    assert made.report.safe_for == "safe for host pairs, both ways, managers, multicast"
    report = check_subnet(made.subnet, made.write(tmp_path / "out"))
    assert (report.passed, report.safe_for, report.max_load) == (True, made.report.safe_for, 52)
    job = [*range(8), len(subnet.hosts) - 1]
    assert route_subnet(subnet, job=job).behind is None


def test_a_torus_with_failures_and_a_hung_switch_is_both() -> None:
    text = rows(*failed((6, 6), 3, 1, 5))
    whole = seen(text)
    assert whole.describe() == "6x6 torus less one switch and three cables"
    at = whole.subnet.switches[9].name
    found = seen(text + storage(at))
    assert found.describe() == f"{whole.describe()}; one switch is hung on it"
    place = ",".join(map(str, whole.coordinates[9]))
    assert found.place(len(found.subnet.switches) - 1) == f"st0 at ({place})"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a,b\na,c\na,d\na,e\n", "graph"),
        ("a,b\na,c\nb,d\nb,e\nc,f\nc,g\n", "graph"),
        ("a,b\nb,c\nc,d\n", "mesh"),
        ("a,b\nb,c\n", "mesh"),
        ("".join(f"l{n},t{m}\n" for n in range(4) for m in range(4)), "graph"),
    ],
    ids=["star", "tree", "line", "short line", "bipartite"],
)
def test_trees_and_lines_are_none(text: str, kind: str) -> None:
    found = recognise(parse_fabric(text, hosts=()))
    assert (found.kind, found.service) == (kind, {})


def loads(subnet: Subnet, found: Recognition, made: np.ndarray) -> tuple[int, int]:
    """The largest load of channels that join hung switches, and of all others."""
    among = [[], []]
    for number, cable in enumerate(subnet.cables):
        hung = bool({cable.a, cable.b} & found.service.keys())
        among[hung] += made[2 * number : 2 * number + 2].tolist()
    return max(among[1]), max(among[0])


@pytest.mark.parametrize("cables", [1, 2])
def test_the_load_is_balanced_behind_the_cable_that_all_must_take(tmp_path: Path, cables: int) -> None:
    subnet = parse_fabric(torus(6, 6) + storage("s2-3", cables=cables))
    made = route_subnet(subnet)
    # 36 others send to four hosts over one cable, or to two of them over each of two.
    assert made.report.max_load == made.bound["value"] == (144 if cables == 1 else 72)
    assert made.behind is not None
    fullest, others = loads(made.subnet, made.recognition, made.report.loads)
    assert (fullest, others) == (made.report.max_load, made.behind.load)
    assert made.behind.bound <= others <= 1.05 * made.behind.bound
    assert made.report.safe_for == "safe for host pairs, both ways, managers, multicast"
    report = check_subnet(made.subnet, made.write(tmp_path / "out"))
    assert (report.passed, report.safe_for, report.max_load) == (True, made.report.safe_for, fullest)
    assert report.unreachable == 0


@pytest.mark.parametrize(
    ("hosts", "cables", "load", "proof"),
    [
        # Two of four hosts share one of three cables, for all 16 others.
        (4, 3, 32, "the cables to the switch st0, one to a destination: 64 pairs cross 3 channels"),
        # All nine send to six of the others at least over one of three cables.
        (9, 3, 54, "the cables from the switch st0, one to a destination: 144 pairs cross 3 channels"),
        (4, 2, 32, "the switch st0: 64 pairs cross 2 channels"),
    ],
)
def test_bounds_behind_parallel_cables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hosts: int, cables: int, load: int, proof: str
) -> None:
    file, out = tmp_path / "torus.csv", tmp_path / "out"
    file.write_text(torus(4, 4) + storage("s1-2", hosts=hosts, cables=cables))
    made = route_subnet(parse_fabric(file.read_text()))
    made.write(out)
    facts = json.loads((out / "report.json").read_text())
    assert (made.report.max_load, facts["bound"], facts["bound_proof"]) == (load, load, proof)
    certificate = tmp_path / "certificate.json"
    code, said, _ = command(capsys, "check", "--fabric", file, out, "--certificate", certificate)
    assert (code, proof in said) == (0, True)
    code, said, _ = command(capsys, "recheck", out, certificate)
    assert (code, said.endswith(f"no tables have less than {load} on the busiest channel\n")) == (0, True)
    # One more is not proven by these cables.
    wrong = json.loads(certificate.read_text())
    wrong["bound"]["value"] += 1
    certificate.write_text(json.dumps(wrong))
    code, said, err = command(capsys, "recheck", out, certificate)
    assert (code, f"is below {load + 1}" in said + err) == (1, True)


def test_what_the_commands_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out, next_ = tmp_path / "torus.csv", tmp_path / "out", tmp_path / "next"
    file.write_text(torus(4, 4) + storage("s1-2"))
    code, said, _ = command(capsys, "fabric", "show", file, "--picture", tmp_path / "f.png")
    assert (code, said.splitlines()[0]) == (0, "4x4 torus; one switch is hung on it")
    assert re.search(r"^st0 +at \(\d,\d\) +d0-0 d0-1 d0-2 d0-3$", said, re.MULTILINE)
    code, said, _ = command(capsys, "route", "--fabric", file, "-o", out)
    told = (
        r"^load +at most 64 host pairs on a channel: on (s1-2/30 -> )?st0/1( -> s1-2/30)?, which joins a hung"
    )
    assert (code, bool(re.search(told, said, re.MULTILINE))) == (0, True)
    assert not (out / "torus-2QoS.conf").exists()
    facts = json.loads((out / "report.json").read_text())
    assert (facts["max_load"], facts["optimal"], facts["behind_bound"]) == (64, True, 19)
    assert 19 <= facts["behind_load"] <= 20
    assert command(capsys, "check", "--fabric", file, out, "--safe-for", "all")[0] == 0
    assert command(capsys, "view", out, "--fabric", file, "-o", tmp_path / "page.html")[0] == 0
    # A repair, with the hung switch and without it.
    for part in ("cable:s0-0/1", "node:st0"):
        code, said, _ = command(capsys, "route", "--fabric", file, "--fail", part, "--from", out, "-o", next_)
        assert (code, "stop the traffic" in said) == (0, False)
        assert command(capsys, "check", "--fabric", file, "--fail", part, next_)[0] == 0


def test_jobs_and_weights_behind_a_hung_switch() -> None:
    subnet = parse_fabric(torus(4, 4) + storage("s1-2"))
    names = [host.name for host in subnet.hosts]
    job = [names.index(name) for name in ("d0-0", "d0-1", "hs0-0", "hs3-1")]
    made = route_subnet(subnet, job=job)
    assert (made.report.max_load, made.bound["value"]) == (4, 4)
    weights = np.zeros((len(names), len(names)), dtype=np.int64)
    weights[job[0], job[2]] = weights[job[1], job[3]] = 7
    made = route_subnet(subnet, traffic=weights)
    assert made.report.max_load == 14
    assert made.behind is not None
    assert made.behind.load == 7


def test_your_own_coordinates_beside_a_hung_switch() -> None:
    text = torus(5, 3) + storage("s0-0")
    subnet = parse_fabric(text)
    subnet = with_identifiers(subnet)
    guid = {switch.name: f"0x{switch.guid:016x}" for switch in subnet.switches}
    along_x = f"xm_link {guid['s0-0']} {guid['s4-0']}\nx_dateline -1"
    links = f"torus 5 3 1\n{along_x}\nyp_link {guid['s0-0']} {guid['s0-1']}"
    found = configured(subnet, parse_torus_config(links))
    assert found.describe() == "5x3 torus; one switch is hung on it"
    hung = next(iter(found.service))
    assert found.place(hung) == "st0 at (1,0)"
    assert torus_2qos(found) is None
    wrong = links.replace(guid["s0-1"], guid["st0"])
    with pytest.raises(SpecError, match="line 4: st0 is hung on the torus or mesh; name a switch of it"):
        configured(subnet, parse_torus_config(wrong))


def test_two_colours_around_a_switch_with_many_hosts_are_no_fat_tree() -> None:
    # Every cable joins an even and an odd switch, so all have a level above the one with four hosts.
    joined = [f"s{n},s{(n + step) % 24}" for n in range(24) for step in (1, 5)]
    hosts = [f"s{n},h{n}" for n in range(24)] + [f"s0,d{n}" for n in range(3)]
    subnet = parse_fabric("\n".join(joined + hosts), hosts="h[0-23],d[0-2]")
    assert recognise(subnet).kind == "circulant"
    made = route_subnet(subnet)
    assert (made.method, list(made.method_loads)) == ("balanced", ["balanced"])
    # Some hosts, for storage, may be above the leaves.
    tree = "".join(f"l{n},t{m}\n" for n in range(4) for m in range(2))
    hosts = [f"l{n},h{n}-{k}" for n in range(4) for k in range(4)] + ["t0,d0", "t1,d1"]
    assert (
        recognise(parse_fabric(tree + "\n".join(hosts))).describe().startswith("a fat tree of 4 + 2 switches")
    )
