"""Doors between verbs: what one writes the next one takes, and an option that would be ignored is refused."""

import json
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.traces import Operation, write_chakra
from places import ROOT

TORUS = ROOT / "examples" / "fabrics" / "torus-4x4x2.topo"
MESH = "topology = mesh; k = 4; n = 2; routing_function = dor; traffic = transpose; injection_rate = 0.01;\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def made(*commands):
    for command in commands:
        assert run([*command.split()]) == 0, command


def refused(command, capsys, code=2):
    """What a command says that ends with this exit code."""
    capsys.readouterr()
    words = command if isinstance(command, list) else command.split()
    assert run(words) == code, command
    return capsys.readouterr().err.removeprefix("error: ").strip()


def answer(command, capsys, code=0):
    """The JSON that a command prints."""
    capsys.readouterr()
    assert run([*command.split(), "--json"]) == code, command
    return json.loads(capsys.readouterr().out)


#: Files by the commands that make them, and what `view` does not do with each.
SHOWN = {
    "result.nc": ("simulate --torus 4x4 --pattern shfl -o result.nc", "--torus 4x4", "--fail node:3"),
    "tables.json": ("route --torus 4x4 -o tables.json", "--stop-at 3", "--preset cup-stacking"),
    "plan.json": ("schedule --torus 4x4 --pattern shfl -o plan.json", "--mesh 4x4", "--preset cup-stacking"),
    "steps.json": ("collective all-gather --torus 4x4 -o steps.json", "--fail node:3", "--preset s07"),
    "p.json": ("place --torus 4x4 --stencil 4x4 -o p.json", "--torus 4x4", "--stop-at 3"),
    "load.toml": ("examples copy load.toml -o .", "--torus 4x4", "--fail node:3"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_view_refuses_what_it_would_ignore(name, capsys):
    command, *options = SHOWN[name]
    made(command)
    for option in options:
        said = refused(f"view {name} -o page.html {option}", capsys)
        assert said.startswith(option.split()[0] + ": "), said
    assert not Path("page.html").exists()


def test_view_of_a_fabric_and_live_pages_refuse_what_they_would_ignore(capsys):
    fabric = f"view --fabric {TORUS} -o page.html"
    assert refused(f"{fabric} --torus 4x4", capsys) == "--torus: does not go with a fabric; leave it out"
    assert refused(f"{fabric} --stop-at 3", capsys).startswith("--stop-at: belongs to what moves")
    assert refused("view --live --torus 4x4 -o page.html", capsys) == "--torus does not go with --live"


def test_a_file_that_a_verb_does_not_take_is_called_by_its_kind(capsys):
    Path("mesh.cfg").write_text(MESH)
    write_chakra([[Operation("send", 64, 1)], [Operation("recv", 64, 0)]], "trace.et")
    made("simulate --torus 4x4 --pattern shfl -o result.nc", "route --torus 4x4 -o tables.json")
    kinds = {
        "view mesh.cfg -o page.html": "mesh.cfg: is a file of BookSim2, which flitloom view does not take; "
        "flitloom simulate, flitloom convert or flitloom load curve take it",
        "view trace.0.et -o page.html": "trace.0.et: is a message graph, which flitloom view does not take",
        "convert result.nc a.goal": "result.nc: is a result, which flitloom convert does not take; flitloom "
        "view takes it",
        "simulate tables.json --pattern rand": "tables.json: is a file of routing tables; write --tables tab",
        "load curve tables.json --pattern rand": "tables.json: is a file of routing tables; write --tables t",
        "sweep mesh.cfg --grid traffic.rate=0.1 -o a.csv": "mesh.cfg: is a file of BookSim2; flitloom load",
        "simulate mesh.cfg --html page.html": "--html: a file of BookSim2 is run without records",
    }
    for command, said in kinds.items():
        assert refused(command, capsys).startswith(said), command


def test_tables_by_destination_fill_a_folder_which_needs_its_network(capsys):
    said = refused(f"route --fabric {TORUS} -o t.json", capsys)
    assert said == "--out: t.json: tables by destination fill a folder; write -o out/"
    assert not Path("t.json").exists()
    made(f"route --fabric {TORUS} -o out")
    for command in ("check out", "view out -o a.html", "simulate --tables out", "load curve --tables out"):
        said = refused(command, capsys)
        assert said.startswith("out: is a folder of tables by destination, which do not name their network")
        assert "--fabric FILE, --network NAME or --torus SIZES --twist" in said
    made(f"check out --fabric {TORUS}")


def test_old_tables_are_judged_without_a_switch_that_has_failed(capsys):
    named = f"--fabric {TORUS}"
    made(f"route {named} -o out")
    lost = answer(f"check {named} --lft out --fail node:S1-1-1", capsys, 1)
    assert lost["unreachable"] > 0
    assert not lost["deadlock"]
    # They hand packets over to all that work but those whose way led through the switch.
    sent = answer(f"simulate --graph {TORUS} --tables out --fail node:S1-1-1", capsys)
    assert (sent["packets"], sent["unreachable"]) == (31 * 30, lost["unreachable"])
    assert sent["packets_delivered"] == 31 * 30 - lost["unreachable"]
    repaired = answer(f"route {named} --from out --fail node:S1-1-1 -o repaired", capsys)
    assert answer(f"check {named} --lft repaired --fail node:S1-1-1", capsys)["unreachable"] == 0
    # A fabric that was discovered again lacks the switch, and so do its neighbours.
    parts = TORUS.read_text().split("\n\n")
    left = [part for part in parts if "switchguid=0x20000f" not in part and "S1-1-1-host0" not in part]
    kept = [line for part in left for line in [*part.splitlines(), ""] if "S-000000000020000f" not in line]
    assert len(left) == len(parts) - 2
    Path("now.topo").write_text("\n".join(kept))
    said = refused("check --fabric now.topo --lft out", capsys)
    assert "is not in the fabric; if it has failed since, name the fabric as it was" in said
    # Both count the same entries, whether the switch is named as failed or not.
    for fail in ("", " --fail node:S1-1-1"):
        differ = answer(f"route diff out repaired {named}{fail}", capsys)
        assert differ["changed_entries"] == repaired["changed_entries"]
        assert differ["entries"] == repaired["entries"]
        assert "S1-1-1" not in [row["switch"] for row in differ["switches"]]


def test_a_failed_switch_that_does_not_exist_has_a_near_name(capsys):
    said = refused(f"route --fabric {TORUS} --fail node:S1-1-9", capsys)
    assert "no switch is called 'S1-1-9'; did you mean S1-1-1? Write node:S5" in said


@pytest.mark.parametrize("ending", [".xml", ".mscclpp.json"])
@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "all-to-all", "reduce-scatter"])
def test_third_party_plans_with_a_failed_node_come_back(ending, operation, capsys):
    made(f"collective {operation} --torus 4x4 --fail node:5 -o plan.json", f"convert plan.json their{ending}")
    at = "--torus 4x4 --fail node:5"
    made(f"convert their{ending} back.json {at}")
    plan, back = fl.collectives.read("plan.json").expanded(), fl.collectives.read("back.json").expanded()
    assert (sorted(plan.moves), sorted(plan.sums)) == (sorted(back.moves), sorted(back.sums))
    ours = answer("simulate plan.json --flits 32", capsys)
    assert answer(f"simulate their{ending} {at} --flits 32", capsys) == ours
    made(f"view their{ending} {at} -o page.html")
    # Without the table of ranks beside it.
    Path("their.mscclpp.ranks.csv" if ending != ".xml" else "their.ranks.csv").unlink()
    for verb in ("check", "simulate"):
        said = refused(f"{verb} their{ending} --torus 4x4", capsys)
        assert "15 gpus, the network has 16 nodes; name the failed ones, e.g. --fail node:5, or" in said
    assert "name it with --torus 4x4" in refused(f"simulate their{ending}", capsys)


def test_plans_say_what_is_not_written_of_them(capsys):
    made("collective all-gather --torus 4x4 -o plan.json")
    said = refused("simulate plan.json --picture a.png", capsys)
    assert said.startswith("--picture: a plan of a collective operation is run without records")
    assert refused("convert plan.json a.xml --torus 4x4", capsys).startswith(
        "--torus: the plan names its net"
    )
    assert refused("view plan.json --torus 8x8 -o a.html", capsys).startswith(
        "plan.topology: the plan is for"
    )


def test_pipelined_routers_are_refused_where_they_would_be_ignored(capsys):
    switches = ("simulate", "--network", "dragonfly(3,1,2)", "--pattern", "rand", "--rate", "0.1")
    charts = (("--html", "page.html", "pages that move"), ("--space-time", "a.png", "space-time charts"))
    for option, file, what in charts:
        assert run([*switches, "--cycles", "50", option, file]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert f"has switches, and {what} are for tori and meshes" in printed.err
    network = fl.Network(fl.Torus(4, 4), fl.Router(model="pipelined"))
    with pytest.raises(fl.SpecError, match=r"router\.model: is pipelined"):
        fl.stack(network, fl.Collective("shfl"))


def test_a_trace_has_the_names_and_the_unit_of_other_simulations(capsys):
    # A microsecond of computing, then 1600 bytes to the neighbour: 100 flits and their 7 headers over a hop.
    write_chakra(
        [[Operation("calc", 1), Operation("send", 1600, 1, requires=[0])], [Operation("recv", 1600)]], "t.et"
    )
    plain = answer("simulate t.0.et --torus 4", capsys)
    timed = answer("simulate t.0.et --torus 4 --bandwidth 50GB/s", capsys)
    others = set(fl.simulate(fl.Network(fl.Torus(4)), fl.Collective("next")).to_dict())
    assert set(plain) == others | {"links", "makespan", "network", "ranks"}
    # At 0.32 ns a flit, a microsecond is 3125 cycles.
    assert timed["duration"] - plain["duration"] == 3125 - 1
    assert timed["time"] == pytest.approx(timed["duration"] * 16 / 50e9)
    assert timed["flits_delivered"] == 107
    assert answer("simulate t.0.et --torus 4 --bandwidth 400Gb/s --flit-bytes 32", capsys)["time"] > 0
    made("convert t.0.et t.goal")
    assert "GOAL does not say how long" in refused("simulate t.goal --torus 4 --bandwidth 50GB/s", capsys)
    product = ["simulate", "t.0.et", "--network", "ring4 x full4"]
    assert run(product) == 0
    assert run([*product[:3], "dragonfly(4,2,2)"]) == 0


def test_messages_call_an_option_as_it_was_typed(capsys, monkeypatch):
    monkeypatch.setattr("flitloom.commands.actions.place.NOT_OF_JOBS", ("graph",))
    for option in ("--graph", "--fabric"):
        for words in ([option, str(TORUS)], [f"{option}={TORUS}"]):
            said = refused(["place", *words, "--jobs", "jobs.toml"], capsys)
            assert said == f"{option} does not go with --jobs"
