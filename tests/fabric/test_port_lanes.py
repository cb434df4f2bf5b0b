"""How many lanes ports have, as InfiniBand's programs print it, and what tables make of that."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabrics import command, discovered, torus_cables
from flitloom.errors import SpecError
from flitloom.fabric import Subnet, check_subnet, parse_fabric, route_subnet, with_port_lanes

#: A ring of five: two lanes are needed, and more are welcome.
RING = discovered(*torus_cables((5,)), seed=3)


def records(subnet: Subnet, few: int, field: str = "OperVLs") -> str:
    """What saquery prints of the ports of all cables; the first port of the second switch has few lanes."""
    said = []
    for number, cable in enumerate(subnet.cables):
        for switch, port in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
            lanes = few if (number, switch) == (0, cable.a) else 8
            said.append(
                f"PortInfoRecord dump:\n\tRID\n\t\tEndPortLid..............{subnet.switches[switch].lid}\n"
                f"\t\tPortNum.................{port}\n\t\tOptions.................0x0\n\tPortInfo dump:\n"
                f"\t\tLid:.............................0\n\t\tLinkState:.......................Active\n"
                f"\t\tVLCap:...........................VL0-{max(7, lanes - 1)}\n"
                f"\t\tVLHighLimit:.....................0\n\t\tVLStallCount:....................7\n"
                f"\t\t{field}:.........................VL0{f'-{lanes - 1}' if lanes > 1 else ''}\n"
            )
    return "".join(said)


def asked(subnet: Subnet, few: int) -> str:
    """The same as smpquery portinfo prints it, port by port."""
    lines = records(subnet, few).replace("\t", "").splitlines()
    ports = [line.rpartition(".")[2] for line in lines if line.startswith(("EndPortLid", "PortNum"))]
    heads = iter(
        f"# Port info: Lid {lid} port {port}" for lid, port in zip(ports[::2], ports[1::2], strict=True)
    )
    left_out = ("RID", "EndPortLid", "PortNum", "Options", "PortInfo dump")
    return "\n".join(
        next(heads) if line.startswith("PortInfoRecord") else line
        for line in lines
        if not line.startswith(left_out)
    )


def table(subnet: Subnet, few: int) -> str:
    """The same as ibdiagnet writes it, between sections of others; numbers stand for lanes."""
    number = {1: 1, 2: 2, 4: 3, 8: 4, 15: 5}
    rows = []
    for place, cable in enumerate(subnet.cables):
        for switch, port in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
            code = number[few if (place, switch) == (0, cable.a) else 8]
            rows.append(f"0x{subnet.switches[switch].guid:016x},0x0,{port},4,5,0,{code},18,NA")
    heading = "NodeGuid,PortGuid,PortNum,VLCap,PortState,LID,OpVLs,HoQLife,RetransActv"
    ports = "\n".join([heading, *rows])
    return f"START_NODES\nNodeDesc,NumPorts\nEND_NODES\n\nSTART_PORTS\n{ports}\nEND_PORTS\n\nSTART_LINKS\n"


FORMS = {"saquery": records, "smpquery": asked, "ibdiagnet": table}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("few", [1, 2, 4, 8])
def test_the_port_with_the_fewest_lanes_is_found_in_each_form(tmp_path: Path, form: str, few: int) -> None:
    subnet = parse_fabric(RING)
    file = tmp_path / "ports.txt"
    file.write_text(FORMS[form](subnet, few))
    found = with_port_lanes(subnet, file)
    first = subnet.cables[0]
    assert found.fewest_lanes() == (few, subnet.port_name(first.a, first.a_port))
    assert found.port_lanes is not None
    assert (len(found.port_lanes.lanes), found.port_lanes.source) == (10, f"OperVLs in {file}")
    assert (found, subnet.fewest_lanes()) == (subnet, None)


def test_lanes_in_operation_come_before_those_that_are_possible(tmp_path: Path) -> None:
    subnet = parse_fabric(RING)
    file = tmp_path / "ports.txt"
    file.write_text(records(subnet, 2, "NoLanes"))
    found = with_port_lanes(subnet, file)
    assert found.port_lanes is not None
    assert (found.fewest_lanes(), found.port_lanes.source) == (
        (8, subnet.port_name(0, 1)), f"VLCap in {file}",
    )  # fmt: skip


def test_ibnetdiscover_with_full_says_lanes_of_its_own_ports() -> None:
    plain = parse_fabric(RING)
    full = re.sub(r"4xQDR$", "4xQDR s=4 w=2 v=4", RING, flags=re.MULTILINE)
    few = full.replace("v=4", "v=3", 1)
    assert parse_fabric(full) == plain
    assert parse_fabric(full).fewest_lanes() == (8, plain.port_name(0, 1))
    found = parse_fabric(few)
    assert found.fewest_lanes() is not None
    lanes, port = found.fewest_lanes() or (0, "")
    # The first line of a switch in the file is of its own port, whatever its peer has.
    block = next(block for block in few.split("\n\n") if "v=3" in block)
    name = re.search(r'# "([^"]+)" enhanced', block)
    row = re.search(r"^\[(\d+)\].*v=3$", block, re.MULTILINE)
    assert name
    assert row
    assert (lanes, port) == (4, f"{name[1]}/{row[1]}")


def test_tables_use_what_the_ports_have_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topo, ports, out = tmp_path / "ring.topo", tmp_path / "ports.txt", tmp_path / "out"
    topo.write_text(RING)
    subnet = parse_fabric(RING)
    where = subnet.port_name(subnet.cables[0].a, subnet.cables[0].a_port)
    ports.write_text(records(subnet, 4))
    told = f"port {where} has 4 lanes (OperVLs in {ports})"
    code, said, _ = command(capsys, "route", "--fabric", topo, "--lanes", ports, "-o", out)
    assert (code, said.count(told)) == (0, 1)
    assert re.search(
        rf"^lanes +2 of 4, mode portable, \d service levels; {re.escape(told)}$", said, re.MULTILINE
    )
    code, said, _ = command(capsys, "route", "--fabric", topo, "--lanes", ports, "--json")
    facts = json.loads(said)
    assert (code, facts["lanes_there"], facts["lanes_from"]) == (0, 4, told)
    code, said, _ = command(capsys, "route", "--fabric", topo, "--json")
    facts = json.loads(said)
    assert (code, facts["lanes_there"], facts["lanes_from"]) == (0, 8, None)
    code, said, _ = command(capsys, "check", out, "--fabric", topo, "--lanes", ports, "--safe-for", "all")
    assert (code, said.count(told), "mod 4" in said) == (0, 1, True)


def test_levels_that_few_lanes_cannot_keep_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topo, out, repaired = tmp_path / "ring.topo", tmp_path / "out", tmp_path / "repaired"
    topo.write_text(RING)
    subnet = parse_fabric(RING)
    files = {few: tmp_path / f"ports-{few}.txt" for few in (1, 2, 8)}
    for few, file in files.items():
        file.write_text(table(subnet, few))
    made = route_subnet(subnet)
    made.write(out)
    # Levels 1 and 2 are those of pairs: they are one lane where links have one.
    assert [check_subnet(with_port_lanes(subnet, file), out).deadlock for file in files.values()] == [
        True, False, False,
    ]  # fmt: skip
    code, said, err = command(capsys, "check", out, "--fabric", topo, "--lanes", files[1])
    assert (code, "FAILED" in said) == (1, True)
    assert re.search(
        r"note: the tables use 3 lanes, and port \S+ has 1 lane \(OperVLs in .*\): levels share", err
    )
    # Repaired tables have other levels, and are safe there.
    code, said, _ = command(
        capsys, "route", "--fabric", topo, "--lanes", files[2], "--from", out, "-o", repaired
    )
    assert (code, "stop the traffic" in said) == (0, True)
    assert not check_subnet(with_port_lanes(subnet, files[2]), repaired).deadlock
    assert json.loads((out / "report.json").read_text())["service_levels"] > 2
    assert json.loads((repaired / "report.json").read_text())["service_levels"] <= 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--lanes", "5"), r"--lanes: 5, and port \S+ has 4 lanes \(VLCap in .*\); write 4 or less"),
        (("--lanes", "0"), "--lanes: 0; links have 1 to 15 lanes"),
        (("--lanes", "four"), "--lanes: 'four' is neither a number nor a file; write 1 to 15"),
        (("--lanes", "ring.topo"), "no lanes of ports in it; known are the output of saquery"),
        (("--lanes", "other.txt"), "says nothing about any port of a cable between switches"),
        (("--lanes", "route.txt"), "line 1: '# Port info: DR path .* does not name its node; ask by LID"),
        (("--lanes", "three.txt"), "line 2: VL0-2 are 3 lanes; ports of InfiniBand have 1, 2, 4, 8, 15"),
        (("--lanes", "begin.txt"), "line 1: lanes before the port that they belong to"),
        (("--lanes", "columns.csv"), "line 2: START_PORTS has no column OpVLs"),
        (("--lanes", "fields.csv"), "line 3: 2 fields, and START_PORTS has 4 columns"),
        (("--lanes", "port.csv"), "line 3: 'x,1,4,4' does not name a port"),
        (("--lanes", "cut.csv"), "START_PORTS has no end: the file was cut off"),
    ],
)
@pytest.mark.parametrize("verb", ["route", "check"])
def test_what_is_refused_by_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    words: tuple[str, ...],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    heading = "START_PORTS\nNodeGuid,PortNum,VLCap,OpVLs\n"
    files = {
        "ring.topo": re.sub(r"4xQDR$", "4xQDR s=4 w=2 v=3", RING, flags=re.MULTILINE),
        "other.txt": "# Port info: Lid 4242 port 1\nOperVLs:....VL0-7\n",
        "route.txt": "# Port info: DR path slid 65535; dlid 65535; 0,1 port 1\nOperVLs:....VL0-7\n",
        "three.txt": "# Port info: Lid 1 port 1\nOperVLs:....VL0-2\n",
        "begin.txt": "OperVLs:....VL0-7\n# Port info: Lid 1 port 1\n",
        "columns.csv": "START_PORTS\nNodeGuid,PortNum,VLCap\nEND_PORTS\n",
        "fields.csv": f"{heading}0x1,1\nEND_PORTS\n",
        "port.csv": f"{heading}x,1,4,4\nEND_PORTS\n",
        "cut.csv": f"{heading}0x1,1,4,4\n",
    }
    for name, text in files.items():
        Path(name).write_text(text)
    route_subnet(parse_fabric(RING)).write("out")
    given = ["-o", "made"] if verb == "route" else ["out"]
    code, said, err = command(capsys, verb, *given, "--fabric", "ring.topo", *words)
    assert (code, said, Path("made").exists()) == (2, "", False)
    assert re.search(problem, err), err
    assert err.count("\n") == 1


def test_failures_that_tables_on_more_lanes_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topo, ports, out = tmp_path / "ring.topo", tmp_path / "ports.txt", tmp_path / "out"
    topo.write_text(RING)
    ports.write_text(table(parse_fabric(RING), 2))
    route_subnet(parse_fabric(RING)).write(out)
    words = ["route", "--fabric", topo, "--critical", "--from", out]
    code, said, err = command(capsys, *words, "--lanes", ports)
    assert (code, said) == (2, "")
    assert re.search(r"--from: \S+ has service levels up to 2, and port \S+ has 2 lanes", err)
    assert command(capsys, *words)[0] == 0


def test_ports_that_a_file_leaves_out_are_noted(tmp_path: Path) -> None:
    subnet = parse_fabric(RING)
    file = tmp_path / "ports.txt"
    switch = subnet.switches[2]
    file.write_text(f"# Port info: Lid {switch.lid} port 1\nVLCap:....VL0-7\nOperVLs:....VL0-3\n")
    found = with_port_lanes(subnet, file)
    assert found.fewest_lanes() == (4, f"{switch.name}/1")
    assert found.remarks[-1].startswith(f"{file} says nothing about 9 ports of cables, e.g. ")
    with pytest.raises(SpecError, match="says nothing about any port"):
        with_port_lanes(parse_fabric("a,b\nb,c\nc,a\n"), file)
