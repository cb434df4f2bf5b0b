"""A network is what a text or a file names, in every verb and every function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.spec.what import fields_of

RING = "a,b\nb,c\nc,d\nd,a\n"


@pytest.mark.parametrize(
    ("what", "topology"),
    [
        ("4x4x8", fl.Torus(4, 4, 8)),
        ("torus 6", fl.Torus(6)),
        ("mesh 8x8", fl.Mesh(8, 8)),
        ("twisted 4x4x8", fl.Torus(4, 4, 8, twist=True)),
        ("full4 x ring3", fl.Product("full4 x ring3")),
    ],
)
def test_a_text_is_the_network_that_it_names(what: str, topology: fl.Topology) -> None:
    assert fl.Network(what).topology.is_as(fl.Network(topology).topology)
    traffic = fl.Collective("next")
    assert fl.simulate(what, traffic).duration == fl.simulate(fl.Network(topology), traffic).duration
    assert fl.lower_bound(what, traffic) == fl.lower_bound(fl.Network(topology), traffic)


def test_switches_with_hosts_are_pipelined(tmp_path: Path) -> None:
    file = tmp_path / "ring.csv"
    file.write_text(RING)
    for what in ("dragonfly(3,1,2)", str(file), file):
        network = fl.Network(what)
        assert network.router.model == "pipelined"
        assert fl.simulate(what, fl.Collective("next")).packets_delivered == network.nodes
    with pytest.raises(fl.SpecError, match=r"topology.network: has switches with hosts"):
        fl.Network("dragonfly(3,1,2)", fl.Router())


def test_what_flitloom_wrote_says_its_network(tmp_path: Path) -> None:
    torus = fl.Torus(4, 4, failed_links=["0-1"])
    files = {
        name: tmp_path / f"{name}.json" for name in ("plan", "tables", "placement", "collective", "result")
    }
    packets = fl.Packets([(2, 3, 8, 0)])
    fl.plans.search(fl.Network(torus), packets, method="greedy").save(files["plan"])
    fl.tables.make(torus).to_json(files["tables"])
    fl.placing.place(torus, fl.placing.stencil_traffic((4, 4)), effort=1).save(files["placement"])
    fl.collectives.plan(torus, "all-gather").save(files["collective"])
    fl.simulate(fl.Network(torus), packets).to_json(files["result"])
    for file in files.values():
        assert fl.Network(file).topology.is_as(torus), file
    spec = tmp_path / "x.toml"
    spec.write_text('topology = { kind = "mesh", sizes = "3x5" }\n[traffic]\npattern = "next"\n')
    assert fl.Network(spec).topology.is_as(fl.Mesh(3, 5))


def test_a_twisted_torus_stays_twisted(tmp_path: Path) -> None:
    plan = fl.collectives.plan(fl.Torus(2, 4, twist=True), "all-gather")
    plan.save(tmp_path / "plan.json")
    assert fl.Network(tmp_path / "plan.json").topology.twist


def test_plans_tables_and_placements_take_what_names_a_network(tmp_path: Path) -> None:
    file = tmp_path / "ring.csv"
    file.write_text(RING)
    for what, same in (("mesh 3x3", fl.Mesh(3, 3)), ("full4", fl.Product("full4"))):
        plan = fl.collectives.plan(what, "all-gather")
        assert plan.steps == fl.collectives.plan(same, "all-gather").steps
    assert fl.collectives.plan("twisted 2x4", "all-gather").twist
    assert fl.collectives.plan(str(file), "all-gather").steps == 2
    assert fl.tables.make("4x4").max_load == fl.tables.make(fl.Torus(4, 4)).max_load
    assert fl.tables.make(str(file)).report.max_load == fl.tables.make(file).report.max_load
    placed = fl.placing.place("mesh 2x2", fl.placing.stencil_traffic((2, 2)), effort=1)
    assert placed.topology.is_as(fl.Mesh(2, 2))


@pytest.mark.parametrize(
    ("verb", "words", "says"),
    [
        ("simulate", ["--pattern", "next"], "network"),
        ("load bound", ["--pattern", "rand"], "network"),
        ("place", ["--stencil", "4x4", "--effort", "1"], "network"),
        ("route", [], "max_load"),
        ("collective all-gather", [], "steps"),
        ("schedule", ["--pattern", "next", "--method", "greedy"], "bound"),
        ("stack", ["--pattern", "next"], "interval"),
        ("jitter", ["--patterns", "next", "--jitter", "0", "--trials", "1", "--moves", "1000"], "chosen"),
    ],
)
@pytest.mark.parametrize("what", ["4x4", "mesh 4x4"])
def test_every_verb_takes_it(
    verb: str, words: list[str], says: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*network: str) -> object:
        assert run([*verb.split(), *network, *words, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        if isinstance(document, list):
            return document
        return {name: value for name, value in document.items() if "seconds" not in name}

    kind = "--mesh" if what.startswith("mesh") else "--torus"
    named, plain = told("--network", what), told(kind, "4x4")
    assert named == plain
    assert says in str(plain) or says == "network"


@pytest.mark.parametrize("verb", ["schedule", "stack", "jitter"])
def test_plans_of_packets_are_not_of_switches_with_hosts(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "--network", "dragonfly(3,1,2)"]) == 2
    assert "--network: dragonfly(3,1,2) has switches with hosts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("8x", "'8x' is not a factor"),
        ("nosuch.csv", "'nosuch.csv' is not a file"),
        ("twisted 4x4", "a 4x4 torus has none"),
        (".", "is a folder without tables that flitloom route wrote"),
        ("", "is not a factor"),
    ],
)
def test_what_names_no_network_is_refused(
    what: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(fl.SpecError) as refused:
        fl.Network(what)
    assert problem in str(refused.value)
    assert run(["simulate", "--network", what, "--pattern", "next"]) == 2
    assert problem in capsys.readouterr().err


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"a": 1}')
    with pytest.raises(fl.SpecError, match="does not say what network it is of"):
        fields_of(str(file))


def test_files_and_folders_of_tables_name_their_network(tmp_path: Path) -> None:
    torus, family = fl.Torus(4, 4, failed_links=["0-1"]), "dragonfly(3,1,2)"
    result = fl.simulate(fl.Network(torus), fl.Packets([(2, 3, 8, 0)]))
    result.to_netcdf(tmp_path / "result.nc")
    fl.tables.make(torus).save_headers(tmp_path / "tables.npz")
    fl.Simulation(fl.Network(torus), fl.Packets([(2, 3, 8, 0)])).save(tmp_path / "saved.flit")
    for name in ("result.nc", "tables.npz", "saved.flit"):
        assert fl.Network(tmp_path / name).topology.is_as(torus), name
    fl.tables.make(family).write(tmp_path / "folder")
    made = fl.Network(tmp_path / "folder").topology
    assert made.is_as(fl.Network(family).topology)
    assert made.tables_file == str(tmp_path / "folder")
    broken = fl.tables.fabric(family, fail=["node:g0s1"])
    fl.tables.make(broken).write(tmp_path / "folder")
    assert fl.Network(tmp_path / "folder").nodes == 22


def test_a_folder_of_tables_follows_its_file(tmp_path: Path) -> None:
    file, folder = tmp_path / "ring.csv", tmp_path / "folder"
    file.write_text(RING)
    fl.tables.make(file).write(folder)
    assert fl.Network(folder).topology.is_as(fl.Network(file).topology)
    file.write_text(RING + "a,c\n")
    with pytest.raises(fl.SpecError, match="has changed since"):
        fl.Network(folder)
    file.unlink()
    with pytest.raises(fl.SpecError, match=r"ring.csv', which is not there"):
        fl.Network(folder)


def test_a_file_of_booksim2_names_its_torus(tmp_path: Path) -> None:
    file = tmp_path / "a.cfg"
    file.write_text("topology = torus;\nk = 4;\nn = 2;\nrouting_function = dim_order;\n")
    assert fl.Network(file).topology.is_as(fl.Torus(4, 4))
    file.write_text("topology = cmesh;\nk = 4;\nn = 2;\nc = 4;\nx = 4;\ny = 4;\nxr = 2;\nyr = 2;\n")
    with pytest.raises(fl.SpecError, match="is of a cmesh of BookSim2"):
        fl.Network(file)


def test_advice_knows_a_twist_however_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for network in (["--torus", "2x4", "--twist"], ["--network", "twisted 2x4"]):
        assert run(["collective", "advise", *network, "--operation", "all-gather", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["compared"]
    assert told[0] == told[1]


@pytest.mark.parametrize("verb", ["status", "run"])
def test_a_campaign_takes_another_network(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        'patterns = ["next"]\ngenes = "timing"\n[topology]\nsizes = "8x8"\n'
        "[genetic]\ngenerations = 1\ntraining = 1\n"
    )
    store = ["--store", str(tmp_path / "s.sqlite")]
    assert run(["campaign", verb, str(file), *store, "--network", "mesh 4x4"]) == 0
    assert run(["campaign", verb, str(file), *store, "--network", "dragonfly(3,1,2)"]) == 2
    assert "is not a torus or mesh" in capsys.readouterr().err
    if verb == "run":
        assert run(["campaign", "best", str(file), *store, "--network", "mesh 4x4", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["searches"] == 1
        assert run(["campaign", "best", str(file), *store, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == []


def test_a_sweep_takes_another_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "e.toml"
    file.write_text('[topology]\nsizes = "8x8"\n[traffic]\nkind = "collective"\npattern = "next"\n')
    words = ["sweep", str(file), "--grid", "traffic.payload=3,7", "-o", str(tmp_path / "o.csv"), "--json"]
    delivered = []
    for what in ("mesh 4x4", "dragonfly(3,1,2)"):
        assert run([*words, "--network", what]) == 0
        delivered.append([row["packets_delivered"] for row in json.loads(capsys.readouterr().out)])
    assert delivered == [[16, 16], [24, 24]]
