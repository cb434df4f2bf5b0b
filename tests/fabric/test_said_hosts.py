"""Which nodes of a file of cables are hosts, said by its user: held against files that say it themselves."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.fabric import Subnet, parse_fabric, read_fabric
from flitloom.fabric.networks import fabric
from flitloom.networks.fabric import Fabric
from verbs import answer, leave_settings, made, refused

#: Two hosts at either end of a chain of three switches, by names that say nothing.
CHAIN = [("u0", "v0"), ("u1", "v0"), ("v0", "w"), ("w", "v1"), ("v1", "u2"), ("v1", "u3")]
HOSTS = ("u0", "u1", "u2", "u3")
#: What every verb makes of it, with `{}` for how the file is named.
VERBS = (
    "fabric show --network {}",
    "collective all-gather --network {}",
    "load bound --network {} --pattern next",
    "load saturation --network {} --pattern next --within 0.5 --measure 200",
    "simulate --network {} --pattern next",
    "route --network {}",
    "place --network {} --axes a=4:ring:8",
)


def plain(cables: list[tuple[str, str]]) -> str:
    return "".join(f"{a},{b}\n" for a, b in cables)


def typed(cables: list[tuple[str, str]], hosts: tuple[str, ...]) -> str:
    """The same cables in a file that says what its nodes are."""
    kind = {name: "host" if name in hosts else "switch" for ends in cables for name in ends}
    return "a,a_type,b,b_type\n" + "".join(f"{a},{kind[a]},{b},{kind[b]}\n" for a, b in cables)


def graphml(cables: list[tuple[str, str]]) -> str:
    nodes = dict.fromkeys(name for ends in cables for name in ends)
    body = "".join(f'<node id="{name}"/>' for name in nodes)
    body += "".join(f'<edge source="{a}" target="{b}"/>' for a, b in cables)
    return f'<graphml><graph edgedefault="undirected">{body}</graph></graphml>'


def alike(found: Subnet, wanted: Subnet) -> bool:
    parts = (found.switches, found.hosts, found.cables)
    return parts == (wanted.switches, wanted.hosts, wanted.cables)


def compared(told: Any) -> Any:
    """What a command says besides the file, the time it took and remarks on the file."""
    left_out = ("seconds", "remarks", "spec")
    return (
        {name: value for name, value in told.items() if name not in left_out}
        if isinstance(told, dict)
        else told
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    leave_settings(monkeypatch, tmp_path)
    for name, text in (("said", plain(CHAIN)), ("typed", typed(CHAIN, HOSTS))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.csv").write_text(text)
    return tmp_path


@pytest.mark.parametrize("seed", range(30))
def test_said_hosts_are_those_of_a_file_that_says_them(seed: int) -> None:
    draw = random.Random(seed)
    names = [f"n{number}" if seed % 2 else str(number) for number in range(draw.randint(4, 9))]
    cables = [(name, draw.choice(names[:place])) for place, name in enumerate(names) if place]
    cables += [tuple(draw.sample(names, 2)) for _ in range(draw.randint(0, 4))]  # type: ignore[misc]
    hosts = tuple(draw.sample(names, draw.randint(1, len(names) - 1)))
    wanted = parse_fabric(typed(cables, hosts))
    said = hosts if seed % 3 else ",".join(f"[{name}]" if name.isdigit() else name for name in hosts)
    for text in (plain(cables), graphml(cables)):
        found = parse_fabric(text, hosts=said)
        assert alike(found, wanted)
        assert not [remark for remark in found.remarks if "taken for hosts" in remark]
    assert alike(parse_fabric(plain(cables), hosts=()), parse_fabric(typed(cables, ())))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_them(verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = answer(verb.format("typed/net.csv"), capsys)
    for said in ("u[0-3]", "list.txt"):
        (folder / "list.txt").write_text("u[0-1]\nu2,u3\n")
        found = answer(f"{verb.format('said/net.csv')} --hosts {said}", capsys)
        assert compared(found) == compared(wanted)
    graph = verb.replace("--network {}", "{}" if verb.startswith("fabric") else "--graph {}")
    alone = answer(f"{graph.format('said/net.csv')} --no-hosts", capsys)
    assert compared(alone) != compared(wanted)


@pytest.mark.usefixtures("folder")
def test_a_grid_of_ranks_fits_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ring.csv").write_text("a,b\nb,c\nc,d\nd,a\n")
    assert answer("place --graph ring.csv --no-hosts --shape 4", capsys)["fits"]
    Path("chain.csv").write_text("a,b\nb,c\nc,d\n")
    assert answer("place --graph chain.csv --hosts a,d --shape 2", capsys)["nodes"] == 2


@pytest.mark.usefixtures("folder")
def test_what_was_written_says_them(capsys: pytest.CaptureFixture[str]) -> None:
    said = "--graph said/net.csv --hosts u[0-3]"
    made(f"route {said} -o tables", f"simulate {said} --pattern next -o run.nc")
    made(f"place {said} --axes a=4:ring:8 -o p.json")
    assert json.loads(Path("tables/report.json").read_text())["topology"]["hosts"] == list(HOSTS)
    for file in ("tables", "run.nc", "p.json"):
        assert fl.Network(file).nodes == 4
        assert answer(f"route --network {file}", capsys)["hosts"] == 4
        message = refused(f"route --network {file} --hosts u0,u1", capsys)
        assert message == "hosts: are stated by the file that names the network; leave them out"
    made("route --placement p.json -o more", f"check {said} tables")
    made("check --network tables --lft more/opensm-lfts.dump", f"view {said} -o page.html")


def test_a_spec_says_them(folder: Path) -> None:
    (folder / "list.txt").write_text("u0 u[1-3]\n")
    traffic = '[router]\nmodel = "pipelined"\n[traffic]\nkind = "collective"\npattern = "next"\n'
    heads = (
        'topology = "said/net.csv hosts u[0-3]"\n',
        'topology = "said/net.csv hosts list.txt"\n',
        '[topology]\ngraph = "said/net.csv"\nhosts = "u[0-3]"\n',
        '[topology]\ngraph = "said/net.csv"\nhosts = ["u3", "u[0-2]"]\n',
        '[topology]\ngraph = "said/net.csv"\nhosts = "list.txt"\n',
    )
    found = []
    for head in heads:
        (folder / "spec.toml").write_text(head + traffic)
        found.append(fl.read_experiment(folder / "spec.toml"))
    assert all(one == found[0] for one in found)
    (folder / "spec.toml").write_text('topology = "said/net.csv no hosts"\n' + traffic)
    assert fl.read_experiment(folder / "spec.toml").topology.nodes == 7


@pytest.mark.usefixtures("folder")
def test_python_says_them() -> None:
    text = "said/net.csv hosts u[0-3]"
    by_field = Fabric(graph="said/net.csv", hosts="u[0-3]")
    assert by_field.hosts == HOSTS
    assert fl.Network(text).topology == by_field
    assert alike(fabric("said/net.csv", hosts=["u0", "u[1-3]"]), read_fabric("typed/net.csv"))
    failed = fabric(text, fail=["node:v1"])
    assert len(failed.hosts) == 2
    assert failed.named is not None
    assert failed.named["hosts"] == list(HOSTS)
    assert len(fl.collectives.plan(text, "all-gather").topology["hosts"]) == 4


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", ["simulate --graph {} --pattern next", "fabric show {}", "route --graph {}"])
def test_a_host_at_every_switch_is_a_guess_that_hosts_or_no_hosts_settle(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ring.csv").write_text("a,b\nb,c\nc,d\nd,a\n")
    guess = "ring.csv is taken for 4 switches with a host each"
    told = [
        (run([*verb.format("ring.csv").split(), *said]), capsys.readouterr().err)
        for said in ([], ["--no-hosts"], ["--hosts", "a,b,d"])
    ]
    assert [code for code, _ in told] == [0, 0, 0]
    otherwise = "; --hosts NAMES says which nodes are hosts, --no-hosts that every one has a host\n"
    assert f"{guess}{otherwise}" in told[0][1]
    assert guess not in told[1][1] + told[2][1]


def test_a_guess_says_how_to_say_otherwise() -> None:
    remarks = parse_fabric(plain(CHAIN)).remarks
    assert any("taken for hosts" in text and "--hosts NAMES, --no-hosts" in text for text in remarks)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("--graph said/net.csv --hosts u9", "hosts: no node is called 'u9'; did you mean 'u3'?"),
        ("--graph said/net.csv --hosts u0,u0", "hosts: node 'u0' is named twice"),
        ("--graph said/net.csv --hosts u0 --no-hosts", "--no-hosts: contradicts --hosts; give one of them"),
        (
            "--graph typed/net.csv --no-hosts",
            "typed/net.csv says that 'u0' is a host, and it is not among them",
        ),
        ("--graph typed/net.csv --hosts u[0-3],w", "typed/net.csv says that 'w' is a switch; leave it out"),
        ("--graph typed/net.csv --hosts u[0-2]", "typed/net.csv says that 'u3' is a host"),
        ("--torus 4x4 --hosts u0", "--hosts: is about a file of cables; name one with --graph or --network"),
        ("--network fattree(4) --no-hosts", "--no-hosts: is about a file of cables"),
        ("--network said/net.csv --hosts ,", "hosts: no nodes in the list"),
    ],
)
def test_what_contradicts_is_refused(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = refused(f"simulate {command} --pattern next", capsys)
    assert message in found
    assert "\n" not in found


def test_switches_of_a_file_without_hosts_may_be_hosts() -> None:
    text = "router 0 router 1\nrouter 1 router 2\n"
    found = parse_fabric(text, "a.net", "router0,router2")
    assert [(host.name, host.switch) for host in found.hosts] == [("router0", 0), ("router2", 2)]


def test_hosts_are_of_files_of_cables_only() -> None:
    with pytest.raises(SpecError, match="hosts: say which nodes of a file of cables are hosts"):
        fabric("fattree(4)", hosts="a")
    with pytest.raises(SpecError, match="hosts: say which nodes of a graph are hosts"):
        Fabric(network="fattree(4)", hosts=("a",))
