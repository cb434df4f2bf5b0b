"""Coordinates and datelines of an operator: torus-2QoS.conf of OpenSM."""

import random
import re

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric import examples, recognise, route_subnet
from flitloom.fabric.failures import without
from flitloom.fabric.torus_2qos import torus_2qos
from flitloom.fabric.torus_config import configured, parse_torus_config

FABRIC = examples.torus((8, 4, 3))


def built(switch):
    """Where a switch stands, as its name says."""
    return tuple(map(int, switch.name[1:].split("-")))


def written(subnet, sizes, axes, ways, origins, begin=(0, 0, 0), word="torus"):
    """A configuration whose axis n leads along dimension `axes[n]`, with the origin so far from a switch."""
    guids = {built(switch): switch.guid for switch in subnet.switches}
    rows = [" ".join([word, *(str(sizes[axis]) for axis in axes)])]
    for name, axis, way, origin in zip("xyz", axes, ways, origins, strict=False):
        for step in (1, -1):
            there = list(begin)
            there[axis] = (there[axis] + step) % sizes[axis]
            link = f"{name}{'p' if way * step == 1 else 'm'}_link"
            rows.append(f"{link} 0x{guids[begin]:x} 0x{guids[tuple(there)]:x} # a cable")
        rows.append(f"{name}_dateline {origin}")
    return "\n# what follows\n\n".join(rows) + "\nportgroup_max_ports 32\nport_order 7 8 9\n"


@pytest.mark.parametrize("sizes", [(8, 4, 3), (4, 4, 3), (4, 4, 4), (4, 2, 5)])
@pytest.mark.parametrize("seed", range(6))
def test_every_switch_has_the_coordinates_of_the_operator(sizes, seed):
    dice, subnet = random.Random(seed), examples.torus(sizes)
    axes = dice.sample(range(3), 3)
    ways = [dice.choice((1, -1)) for _ in axes]
    begin = tuple(dice.randrange(size) for size in sizes)
    origins = [dice.randrange(-9, 9) for _ in axes]
    text = written(subnet, sizes, axes, ways, origins, begin)
    found = configured(subnet, parse_torus_config(text))
    assert found.sizes == tuple(sizes[axis] for axis in axes)
    for switch, place in zip(subnet.switches, found.coordinates, strict=True):
        apart = [at - here for at, here in zip(built(switch), begin, strict=True)]
        for at, axis, way, origin in zip(place, axes, ways, origins, strict=True):
            # Between two switches there is no dateline.
            line = 0 if sizes[axis] == 2 else origin
            assert at == (way * apart[axis] - line) % sizes[axis]


@pytest.mark.parametrize("sizes", [(5, 3), (4, 4, 3), (6, 5, 3)])
def test_configurations_of_our_own_give_back_the_same_coordinates(sizes):
    found = recognise(examples.torus(sizes))
    config = parse_torus_config(torus_2qos(found) or "")
    assert len(config.seeds) > 1
    again = configured(found.subnet, config)
    assert (again.coordinates, again.sizes, again.wraps) == (found.coordinates, found.sizes, found.wraps)
    # Without the first switch the next seed says the same.
    first = next(n for n, s in enumerate(found.subnet.switches) if s.guid == config.seeds[0].links[0][2])
    left = without(found.subnet, {first}, set())
    places = {s.name: place for s, place in zip(found.subnet.switches, found.coordinates, strict=True)}
    again = configured(left, config)
    assert [places[switch.name] for switch in left.switches] == list(again.coordinates)
    assert len(again.missing_switches) == 1
    assert again.missing_switches[0] == found.coordinates[first]


def test_tables_have_the_datelines_of_the_operator(tmp_path):
    subnet, sizes = examples.torus((8, 8)), (8, 8)
    made = {}
    for origin in (0, 3):
        text = written(subnet, sizes, (0, 1), (1, 1), (origin, 0), (0, 0))
        file = tmp_path / "torus-2QoS.conf"
        file.write_text(re.sub("torus 8 8", "torus 8 8 1", text))
        made[origin] = tables = route_subnet(subnet, torus_config=file)
        assert tables.report.passed
        assert tables.report.max_load == tables.report.bound == 64
        # What is written for OpenSM names the same axes and origin.
        out = tables.write(tmp_path / f"out{origin}")
        said = parse_torus_config((out / "torus-2QoS.conf").read_text())
        assert configured(subnet, said).coordinates == tables.recognition.coordinates
        assert tables.recognition.coordinates == tuple(
            ((x - origin) % 8, y) for x, y in map(built, subnet.switches)
        )
    assert (made[0].levels != made[3].levels).any()
    assert fl.tables.make(subnet, torus_config=file).report.passed


def test_the_command_line_takes_a_configuration(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("ring.csv", "w") as file:
        file.writelines(f"s{n},s{(n + 1) % 5}\n" for n in range(5))
    assert run(["fabric", "show", "ring.csv"]) == 0
    # The file names no GUIDs; flitloom makes them up in the order of the switches.
    with open("torus.conf", "w") as file:
        file.write("torus 5 1 1\nxm_link 0x200001 0x200002\n")
    capsys.readouterr()
    assert run(["fabric", "show", "ring.csv", "--torus-config", "torus.conf"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    places = {
        row[-1] if row[0].isdigit() else row[0]: row for row in rows if any(w.startswith("s") for w in row)
    }
    assert places
    assert run(["route", "--fabric", "ring.csv", "--torus-config", "torus.conf", "-o", "out"]) == 0
    assert run(["fabric", "show", "ring.csv", "--torus-config", "torus.conf", "--sizes", "5"]) == 2
    assert "give one" in capsys.readouterr().err
    with open("torus.conf", "a") as file:
        file.write("w_link 1 2\n")
    assert run(["route", "--fabric", "ring.csv", "--torus-config", "torus.conf"]) == 2
    assert "torus.conf, line 3: 'w_link'" in capsys.readouterr().err


GUID = {built(switch): f"0x{switch.guid:x}" for switch in FABRIC.switches}
LINKS = [f"{name}p_link {GUID[0, 0, 0]} {GUID[to]}" for name, to in
         (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1)))]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "names no torus or mesh"),
        (["xp_link 1 2"], "line 1: 'xp_link' comes first"),
        (["torus 8 4"], "line 1: torus takes 3 words, there are 2"),
        (["torus 8 4 q"], "line 1: 'q' is not a radix"),
        (["torus 8 4 3", "xp_link 0x1"], "line 2: xp_link takes 2 words, there is 1"),
        (["torus 8 4 3", "xp_link 0x1 y"], "line 2: 'y' is not a GUID"),
        (["torus 8 4 3", "x_dateline 1.5"], "line 2: '1.5' is not a whole number"),
        (["torus 8 4 3", "# x", "xq_link 1 2"], "line 3: 'xq_link'"),
        (["torus 8 4 3", "xp_link 1 2", "yp_link 3 4"], "line 3: 0x3 is not where the other links"),
        (["torus 8 4 3"], "has no seed"),
        (["torus 8 4 3", "xp_link 0x1 0x2"], "line 2: no switch of the fabric has the GUID 0x00000000000000"),
        (["torus 8 4 3", *LINKS[:2]], "a seed has no link along z"),
        (["torus 4 8 3", *LINKS], "x leads along 8t switches of the fabric, not 4t"),
        (["torus 8m 4 3", *LINKS], "x leads along 8t switches of the fabric, not 8m"),
        (["torus 8 4 3", f"xp_link {GUID[0, 0, 0]} {GUID[1, 1, 0]}"], "line 2: these switches are no"),
        (["torus 5 4 3", *LINKS], "the fabric is not a torus or mesh of 5x4x3"),
        (
            ["torus 8 4 3", *LINKS, f"xm_link {GUID[0, 0, 0]} {GUID[1, 0, 0]}"],
            "line 5: the links of x lead along different lines",
        ),
        (
            ["torus 8 4 3", *LINKS, "next_seed", *LINKS, "x_dateline 1"],
            "line 6: this seed puts S0-0-0 at (7, 0, 0), the first one at (0, 0, 0)",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_with_its_line(lines, message):
    with pytest.raises(fl.SpecError) as caught:
        configured(FABRIC, parse_torus_config("\n".join(lines)))
    assert message in str(caught.value)


def test_meshes_begin_at_their_rim():
    subnet = examples.subnet([(f"S{n}", f"S{n + 1}") for n in range(5)], 1, "line")
    guids = [switch.guid for switch in subnet.switches]
    config = parse_torus_config(f"mesh 6 1 1\nxm_link 0x{guids[2]:x} 0x{guids[3]:x}\nx_dateline 2")
    assert configured(subnet, config).coordinates == tuple((5 - n,) for n in range(6))
