"""What a folder of tables remembers: first tables come back, hosts that are away stay, replaced parts too."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from fabrics import ONE_WAY, command, discovered, torus_cables
from flitloom.fabric import check_mixture, check_subnet, examples, parse_fabric, route_subnet
from flitloom.fabric.failures import fail_parts
from flitloom.fabric.netlist import written
from flitloom.fabric.networks import fabric
from flitloom.tables.by_destination.back import back_from
from flitloom.tables.by_destination.mixtures import mixed
from flitloom.tables.by_destination.repairing import read_old
from flitloom.tables.by_destination.tables import destinations
from flitloom.tables.by_destination.ways import way

LOADED = ("opensm-lfts.dump", "path-sl.txt", "qos-policy.conf", "partitions.conf", "sl2vl.dump", "slvl.txt")


def loaded(folder):
    """The bytes of all files that are loaded or checked."""
    return {name: (folder / name).read_bytes() for name in LOADED if (folder / name).exists()}


def torus(tmp_path, name="f.topo", less=0, hosts=1, size=6):
    """A torus as ibnetdiscover prints it, less some cables."""
    nodes, cables = torus_cables((size, size))
    (tmp_path / name).write_text(discovered(nodes, cables[less:], seed=3, hosts=hosts))
    return tmp_path / name


def without_host(text, name):
    """What ibnetdiscover prints while a host is away."""
    guid = re.search(rf'Ca\t1 "H-(\w+)"\t\t# "{name} ', text)[1]
    blocks = [block for block in text.split("\n\n") if f'Ca\t1 "H-{guid}"' not in block]
    return "\n".join(line for line in "\n\n".join(blocks).split("\n") if guid not in line) + "\n"


def test_a_healed_fabric_gets_its_first_tables_back(tmp_path, capsys):
    """Two failures in a row, healed in the order of failure: half healed there is no way back yet."""
    for name, less in (("whole", 0), ("one", 1), ("two", 2)):
        torus(tmp_path, name, less)
    (tmp_path / "other").write_text(discovered(*_less_first(), seed=3))
    for file, old, new in (
        *(("whole", None, "first"), ("one", "first", "second"), ("two", "second", "third")),
        *(("other", "third", "half"), ("whole", "half", "back"), ("whole", "first", "same")),
    ):
        asked = ["route", "--fabric", tmp_path / file, "-o", tmp_path / new, "--json"]
        code, text, _ = command(capsys, *asked, *(["--from", tmp_path / old] if old else []))
        facts = json.loads(text)
        assert (code, facts["unreachable"]) == (0, 0)
        assert facts["first_again"] == (new in ("back", "same"))
        if old is not None:
            assert facts["update_safe"] or new == "back"
    assert loaded(tmp_path / "first")["qos-policy.conf"]
    for new in ("back", "same", "half/first"):
        assert loaded(tmp_path / new) == loaded(tmp_path / "first")
    assert loaded(tmp_path / "half") != loaded(tmp_path / "first")
    assert not (tmp_path / "back" / "first").exists()


def _less_first():
    """A torus less the second cable: the first one is there again."""
    nodes, cables = torus_cables((6, 6))
    return nodes, [cables[0], *cables[2:]]


def test_first_tables_come_back_only_to_what_they_were_made_for(tmp_path, capsys):
    whole, less = torus(tmp_path), torus(tmp_path, "g.topo", 1)
    asked = ["route", "--fabric"]
    assert command(capsys, *asked, whole, "-o", tmp_path / "first", *ONE_WAY, "--lanes", 5)[0] == 0
    assert command(capsys, *asked, less, "--from", tmp_path / "first", "-o", tmp_path / "next")[0] == 0

    def again(*words):
        code, text, _ = command(capsys, *asked, whole, "--from", tmp_path / "next", "--json", *words)
        assert code == 0
        return json.loads(text)["first_again"]

    assert again()
    assert not again("--lanes", 2)
    assert not again("--method", "balanced", "--mode", "sl2vl")
    jobs = tmp_path / "job"
    jobs.write_text('"hsw0-0 HCA-1","hsw1-1 HCA-1"')
    assert not again("--nodes", jobs)
    # A fabric with more than that, and one whose cables changed places, are others.
    more = whole.read_text() + 'caguid=0x5\nCa\t1 "H-0000000000000005"\t\t# "new HCA-1"\n'
    switch = re.search(r'"(S-\w+)"', more)[1]
    more += f'[1](6) \t"{switch}"[30]\t\t# lid 9999 lmc 0 "sw" lid 1\n'
    whole.write_text(more)
    assert not again()


@pytest.mark.parametrize("away", ["f", "g"])
def test_entries_of_hosts_that_are_away_stay(tmp_path, capsys, away):
    """A host reboots while all else is well, or while a cable is out, too."""
    whole, less = torus(tmp_path), torus(tmp_path, "g.topo", 1)
    file = tmp_path / "away.topo"
    file.write_text(without_host({"f": whole, "g": less}[away].read_text(), "hsw2-1"))
    first, new = tmp_path / "first", tmp_path / "next"
    assert command(capsys, "route", "--fabric", whole, "-o", first)[0] == 0
    code, text, err = command(capsys, "route", "--fabric", file, "--from", first, "-o", new, "--json")
    facts = json.loads(text)
    assert (code, facts["hosts"], facts["first_again"]) == (0, 36, away == "f")
    assert "1 host is away, and its entries stay: hsw2-1 HCA-1" in err
    # With the host back nothing has to change.
    found = check_subnet(fabric({"f": whole, "g": less}[away]), new)
    assert (found.passed, found.unreachable, found.routes) == (True, 0, 36 * 35)
    if away == "f":
        assert loaded(new) == loaded(first)
    # And again, from what was written meanwhile.
    again = route_subnet(fabric(file), old=new)
    assert (again.facts()["changed_entries"], again.update.moved) == (0, 0)


@pytest.mark.parametrize("what", ["host", "renamed host", "switch", "LIDs"])
def test_what_was_replaced_at_the_same_place_has_the_entries_of_before(tmp_path, what):
    text = torus(tmp_path).read_text()
    subnet = parse_fabric(text)
    first = route_subnet(subnet).write(tmp_path / "first")
    if "host" in what:
        host = subnet.hosts[5]
        text = text.replace(f"{host.guid:016x}", f"{1 << 50:016x}").replace(
            f"0x{host.guid:x}", f"0x{1 << 50:x}"
        )
        text = text.replace(f"({host.port_guid:x})", f"({(1 << 50) + 1:x})")
        text = re.sub(rf"\blid {host.lid}\b", "lid 40000", text)
        text = text.replace(host.name, "localhost HCA-7") if what != "host" else text
    elif what == "switch":
        switch = subnet.switches[5]
        text = text.replace(f'"{switch.name}"', '"new switch"').replace(f"lid {switch.lid} ", "lid 40001 ")
        # GUIDs of its hosts are others.
        text = re.sub(rf"(S-|0x|\(){switch.guid:0>16x}", lambda m: m[1] + f"{1 << 50:016x}", text)
        text = re.sub(rf"(0x|\(){switch.guid:x}\b", lambda m: m[1] + f"{1 << 50:x}", text)
    else:
        text = re.sub(r"\blid (2\d{4})\b", lambda match: f"lid {int(match[1]) ^ 1}", text)
    now = parse_fabric(text)
    assert now != subnet
    new = route_subnet(now, old=first)
    facts = new.facts()
    assert (facts["first_again"], facts["moved_levels"], facts["update_safe"]) == (True, 0, True)
    # Ports by GUID or place are those of before.
    places = {(host.switch_port, now.switches[host.switch].name): host.lid for host in now.hosts}
    assert len(places) == len(subnet.hosts)
    assert (new.following != route_subnet(subnet, old=first).following).sum() == 0 or what == "switch"
    written = new.write(tmp_path / "next")
    assert check_subnet(now, written).passed
    assert (loaded(written) == loaded(first)) == (what == "renamed")


def test_tables_stay_right_where_only_lids_are_others(tmp_path, capsys):
    """OpenSM takes entries by GUID; so do checks, of a folder, and of a dump with levels of before."""
    file = torus(tmp_path)
    out, now = tmp_path / "out", tmp_path / "now.topo"
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    assert (out / "path-sl.txt").exists()
    lids = sorted({int(lid) for lid in re.findall(r"\blid (2\d{4})\b", file.read_text())})
    moved = dict(zip(lids, [*lids[1:], lids[0]], strict=True))

    def others(text):
        return re.sub(r"\blid (2\d{4})\b", lambda match: f"lid {moved[int(match[1])]}", text)

    now.write_text(others(file.read_text()))
    code, text, err = command(capsys, "check", "--fabric", now, out, "--safe-for", "all")
    assert (code, "passed" in text) == (0, True)
    assert "36 hosts have other LIDs than in" in err
    # What OpenSM dumps then has the LIDs of now, the levels beside the old dump those of before.
    dump = re.sub(
        r"^0x(\w{4}) (?=\d+ : \(Channel)",
        lambda match: f"0x{moved[int(match[1], 16)]:04x} ",
        (out / "opensm-lfts.dump").read_text(),
        flags=re.MULTILINE,
    )
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "opensm-lfts.dump").write_text(dump)
    asked = ["--lft", tmp_path / "log" / "opensm-lfts.dump", "--path-sl", out / "path-sl.txt", "--json"]
    code, text, _ = command(capsys, "check", "--fabric", now, *asked)
    found, plain = json.loads(text), json.loads(command(capsys, "check", "--fabric", file, out, "--json")[1])
    assert (code, found["deadlock"], found["max_load"]) == (0, False, plain["max_load"])
    # Tables of now lie beside those of before.
    again = tmp_path / "next"
    assert command(capsys, "route", "--fabric", now, "--from", out, "-o", again)[0] == 0
    code, text, _ = command(capsys, "check", "--fabric", now, out, "--mix", again, "--safe-for", "all")
    assert (code, "passed" in text) == (0, True)


@pytest.mark.parametrize(
    ("whole", "parts", "kinds"),
    [
        (examples.torus((6, 6)), ["cable:S0-0/1"], None),
        (examples.torus((6, 6)), ["node:S0-1"], ()),
        (fl.tables.fabric("dragonfly(4,2)"), ["node:g0s1"], None),
        (examples.fat_tree(4), ["node:middle0-0"], None),
        (examples.torus((4, 4, 4)), ["cable:S0-0-0/1", "cable:S1-0-0/3"], None),
    ],
)
def test_stages_of_the_way_back_lie_beside_each_other_on_the_whole_fabric(tmp_path, whole, parts, kinds):
    first = route_subnet(whole, safe_for=kinds).write(tmp_path / "first")
    new = route_subnet(fail_parts(whole, parts), old=first, safe_for=kinds).write(tmp_path / "next")
    text = (new / "STAGES.txt").read_text().partition("The way back")[2]
    assert loaded(new / "first") == loaded(first)
    ways = re.findall(r"check --fabric now\.topo \$NEXT(\S*) --mix \$NEXT(\S+)", text)
    if not ways:
        assert "No\norder is known" in text
        return
    assert ways[0][0] == ""
    assert ways[-1][1] == "/first"
    assert [before for before, _ in ways[1:]] == [after for _, after in ways[:-1]]
    for before, after in ways:
        assert check_mixture(whole, f"{new}{before}", f"{new}{after}").passed
    folders = {path.name for path in new.glob("back-*")}
    assert folders == {f"back-{number}" for number in range(1, len(ways))}
    # What leads back from there is the same.
    back = route_subnet(whole, old=new, safe_for=kinds)
    assert (back.again, back.update.safe) == (True, True)


def test_no_way_back_is_said_where_none_is_known(tmp_path, monkeypatch):
    whole = examples.torus((4, 4))
    first = route_subnet(whole).write(tmp_path / "first")
    repaired = route_subnet(fail_parts(whole, ["cable:S0-0/1"]), old=first)
    found = back_from(repaired)
    assert found.stages[-1].tables.following.shape == repaired.following.shape
    monkeypatch.setattr("flitloom.tables.by_destination.ways._ROUNDS", 0)
    monkeypatch.setattr("flitloom.tables.by_destination.ways.mixed", _refuses)
    assert back_from(repaired).stages == []
    text = (repaired.write(tmp_path / "next") / "STAGES.txt").read_text()
    assert "stop the traffic" in text.partition("The way back")[2]


def _refuses(first, second):
    return mixed(first, second) | {"acyclic": False}


def test_entries_that_would_go_round_change_in_rounds():
    """One set goes up a ring and the other down it: entries follow those behind them."""
    made = route_subnet(parse_fabric("a,b\nb,c\nc,d\nd,a\nh1,a\nh2,b\nh3,c\nh4,d\n"), safe_for=())
    subnet, roots = made.subnet, [made.subnet.hosts[owner].switch for owner in made.owners]
    ends = {channel: there for lists in subnet.outgoing() for channel, _, there in lists}
    up, down = made.following.copy(), made.following.copy()
    for row in range(1):
        for switch in range(4):
            if switch != roots[row]:
                ways = [channel for channel, _, _ in subnet.outgoing()[switch]]
                up[row, switch], down[row, switch] = sorted(ways, key=lambda one: (ends[one] - switch) % 4)
    found = way(subnet, made.owners, (up, made.levels), (down, made.levels))
    assert len(found.steps) > 1
    assert (found.steps[-1].following == down).all()


def test_a_folder_without_memory_is_repaired_as_before(tmp_path):
    whole = examples.torus((4, 4))
    first = route_subnet(whole).write(tmp_path / "first")
    (first / "fabric.topo").unlink()
    new = route_subnet(fail_parts(whole, ["cable:S0-0/1"]), old=first)
    assert (new.first, new.update.safe) == (None, True)
    assert not (new.write(tmp_path / "next") / "first").exists()
    (first / "fabric.topo").write_text("Switch 4 nothing\n")
    with pytest.raises(fl.SpecError, match=r"fabric\.topo"):
        route_subnet(whole, old=first)


def test_stages_remember_what_the_folder_around_them_does(tmp_path):
    whole = examples.torus((4, 4))
    first = route_subnet(whole).write(tmp_path / "first")
    new = route_subnet(fail_parts(whole, ["cable:S0-0/1"]), old=first).write(tmp_path / "next")
    stage = next(iter(sorted(new.glob("stage-*"))))
    back = route_subnet(whole, old=stage)
    assert back.again
    assert loaded(back.write(tmp_path / "back")) == loaded(first)
    # Written over a repair, they leave none of its folders.
    back.write(Path(new))
    assert [path.name for path in new.iterdir() if path.is_dir()] == []


def test_levels_of_a_switch_that_comes_back_while_a_cable_is_out(tmp_path):
    """They are the first ones in both directions, though the folder of before lacks its host."""
    whole = parse_fabric(torus(tmp_path).read_text())
    first = route_subnet(whole).write(tmp_path / "first")
    gone = f"node:{whole.switches[7].name}"
    cable = whole.cables[20]
    part = f"cable:{whole.port_name(cable.a, cable.a_port)}"
    one = route_subnet(fail_parts(whole, [gone]), old=first).write(tmp_path / "one")
    two = route_subnet(fail_parts(whole, [gone, part]), old=one).write(tmp_path / "two")
    left = fail_parts(whole, [part])
    owners = destinations(left)[1]
    known = read_old(left, two, *destinations(left))
    assert known.both_ways(owners)
    of_first = read_old(left, first, *destinations(left))
    host = next(index for index, host in enumerate(left.hosts) if host.switch == 7)
    others = np.arange(len(left.hosts)) != host
    assert of_first.pair_levels[host][others].any()
    assert (known.pair_levels[host] == of_first.pair_levels[host])[others].all()
    back = route_subnet(left, old=two)
    assert (back.report.unreachable, back.report.kinds[1].deadlock) == (0, False)


def test_tables_of_before_a_switch_failed_are_judged(tmp_path, capsys):
    """As the page on failures has it: before the repair, and beside it."""
    whole = torus(tmp_path)
    out, new, now = tmp_path / "out", tmp_path / "next", tmp_path / "now.topo"
    assert command(capsys, "route", "--fabric", whole, "-o", out)[0] == 0
    left = fail_parts(parse_fabric(whole.read_text()), ["node:sw2-1"])
    now.write_text("".join(written(left)))
    assert command(capsys, "route", "--fabric", now, "--from", out, "-o", new)[0] == 0
    told = "the tables are for a fabric with sw2-1, too: its entries are left out"
    code, text, err = command(capsys, "check", "--fabric", now, out)
    assert (code, told in err, "35 switches" in text) == (1, True, True), err
    page = tmp_path / "page.html"
    code, _, err = command(capsys, "view", out, "--fabric", now, "-o", page)
    assert (code, err.count(told), page.exists()) == (0, 1, True), err
    stages = (new / "STAGES.txt").read_text().partition("The way back")[0]
    for words in re.findall(r"check --fabric now\.topo (\S+) --mix (\S+)", stages):
        one, other = (word.replace("$BEFORE", str(out)).replace("$NEXT", str(new)) for word in words)
        code, text, err = command(capsys, "check", "--fabric", now, one, "--mix", other)
        assert (code, told in err) == (0, one == str(out)), text
    # Where most of the switches are others, these are tables of another fabric.
    other = tmp_path / "other.topo"
    other.write_text(discovered(*torus_cables((4, 4)), seed=9))
    code, _, err = command(capsys, "check", "--fabric", other, out)
    assert (code, "is not in the fabric" in err) == (2, True)
