"""Plans: searched, saved, checked, simulated, and refused when damaged."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom import _core
from flitloom.commands import run
from flitloom.ground.workers import Workers
from flitloom.plans.plan import Plan, read_plan
from flitloom.plans.proofs import messages_of
from flitloom.scheduling import check_plan, octants
from flitloom.scheduling.cp_sat import decide
from flitloom.scheduling.search import METHODS, ROUTES

SCHEMA = Path(fl.__file__).parent / "schemas" / "plan.schema.json"


@pytest.fixture(scope="module")
def network() -> fl.Network:
    return fl.Network(fl.Torus(4, 4))


@pytest.fixture(scope="module")
def plan(network: fl.Network) -> Plan:
    return fl.plans.search(network, fl.Collective("trns", payload=14, slices=2))


def test_plan_survives_its_file_and_the_checker(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan.save(file)
    assert read_plan(file) == plan
    report = fl.plans.check(read_plan(file))
    assert report["passed"], report["problems"]
    assert report["bound"] == plan.bound <= plan.duration
    assert set(report["simulated"].values()) == {plan.duration}


def test_committed_schema_describes_the_file(plan: Plan, tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    model = Plan.model_json_schema()
    assert schema["properties"] == model["properties"]
    assert schema["$defs"] == model["$defs"]
    plan.save(tmp_path / "plan.json")
    fields = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert set(schema["required"]) <= set(fields) <= set(schema["properties"])


@pytest.mark.parametrize("routes", ROUTES)
@pytest.mark.parametrize("free", [False, True])
def test_engine_runs_every_kind_of_plan_as_planned(network: fl.Network, routes: str, free: bool) -> None:
    found = fl.plans.search(
        network, fl.Collective("shfl", payload=6, slices=2), routes=routes, free_slices=free, moves=2000
    )
    assert fl.plans.check(found)["passed"]
    assert fl.simulate(network, found).duration == found.duration


@pytest.mark.parametrize("name", ["all-gather", "reduce-scatter", "all-reduce", "broadcast", "all-to-all"])
def test_operations_run_as_planned(network: fl.Network, name: str) -> None:
    found = fl.plans.search(network, fl.Operation(name, payload=3), moves=20_000)
    assert fl.plans.check(found)["passed"]
    assert fl.simulate(network, found).duration == found.duration >= found.bound


def test_staircases_run_as_planned_and_bend_at_will() -> None:
    torus = fl.Network(fl.Torus(8, 8))
    found = fl.plans.search(torus, fl.Operation("all-to-all", payload=7), routes="staircase", moves=200_000)
    report = fl.plans.check(found)
    assert report["passed"]
    assert report["bound"] == found.bound
    # Mean distance 4 in 8-flit packets over 4 links a node, and two cycles.
    assert found.bound == 64 * 64 * 4 * 8 // (64 * 4) + 2
    assert found.duration < 1.25 * found.bound
    assert any(packet.route.count("x") > 1 and packet.route.count("y") > 1 for packet in found.packets)
    assert (
        fl.plans.search(torus, fl.Operation("all-to-all", payload=7), "greedy", routes="staircase").duration
        >= found.duration
    )


def test_pairs_of_octants_are_searched_for_as_they_are_stored(capsys: pytest.CaptureFixture[str]) -> None:
    easy = ["equal", "--cycles", "1200", "--beams", "40", "--width", "50"]
    assert octants.main(easy) == 0
    lines = capsys.readouterr().out.splitlines()
    # Two sides of eight classes; every node sends what two opposite octants have of the 511 offsets.
    assert [line.split()[:2] for line in lines] == [[side, str(c)] for side in "01" for c in range(8)]
    sent = sum(word[0] != "-" for line in lines for word in line.split()[2:])
    assert sent in (8 * 127, 8 * 128)
    assert octants.main(["mixed", "--cycles", "1024", "--beams", "1", "--width", "1"]) == 1
    assert "nothing found" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        octants.main(["mixed", "--cycles", "8"])


@pytest.mark.parametrize(
    ("sizes", "traffic", "more", "message"),
    [
        ((8, 8), fl.Collective("shfl"), {}, "routes: staircase is for all-to-all"),
        ((4, 4), fl.Operation("all-to-all"), {}, "routes: staircase is for all-to-all"),
        ((8, 8), fl.Operation("all-gather"), {}, "routes: staircase is for all-to-all"),
        ((8, 8), fl.Operation("all-to-all"), {"guard": 1}, "guard: staircase"),
        ((8, 8), fl.Operation("all-to-all"), {"interval": 9}, "interval: packets on staircase"),
    ],
)
def test_staircases_for_other_traffic_are_refused(
    sizes: tuple[int, ...], traffic: Any, more: dict[str, int], message: str
) -> None:
    with pytest.raises(fl.SpecError, match=message):
        fl.plans.search(fl.Network(fl.Torus(*sizes)), traffic, routes="staircase", **more)


def test_damage_is_found(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    plan.save(file)
    fields = json.loads(file.read_text(encoding="utf-8"))
    moved = next(packet for packet in fields["packets"] if packet["route"])
    for change, message in [
        ({"route": "+x1"}, "not at its destination"),
        ({"route": "sideways"}, "not understood"),
        ({"destination": 99}, "does not exist"),
        ({"start": 10_000}, "duration: the file says"),
    ]:
        packets = [{**packet, **change} if packet is moved else packet for packet in fields["packets"]]
        file.write_text(json.dumps({**fields, "packets": packets}), encoding="utf-8")
        assert run(["check", str(file)]) == 1
        assert message in capsys.readouterr().out
    unison = [{**packet, "start": 0} for packet in fields["packets"]]
    file.write_text(json.dumps({**fields, "packets": unison}), encoding="utf-8")
    assert run(["check", str(file)]) == 1
    assert "both hold" in capsys.readouterr().out
    with pytest.raises(fl.SpecError, match="the plan is for"):
        fl.simulate(fl.Network(fl.Torus(4, 5)), plan)
    file.write_text(json.dumps({**fields, "format": "flitloom plan 0"}), encoding="utf-8")
    assert run(["simulate", "--plan", str(file)]) == 2


def test_cp_sat_agrees_with_the_bound(network: fl.Network) -> None:
    found = fl.plans.search(network, fl.Collective("shfl", payload=3))
    messages = messages_of(found)
    assert found.optimal
    for target, answer in ((found.duration - 1, bool), (found.duration, list)):
        jobs = _core.ScheduleProblem(network.one_cycle("plans are for"), messages, "dor").candidates(target)
        with Workers(1) as solver:
            assert isinstance(decide(solver, jobs, 10), answer)


def test_methods_go_by_name_and_share() -> None:
    torus = fl.Network(fl.Torus(8, 8))
    text = "greedy, few-bends:0.25, joint:0.75"
    plan = fl.plans.search(torus, fl.Collective("shfl"), text, routes="minimal", moves=4000)
    assert plan.method == text
    assert check_plan(plan)["passed"]
    assert plan.duration <= fl.plans.search(torus, fl.Collective("shfl"), "greedy", routes="minimal").duration
    with pytest.raises(fl.SpecError, match=r"slots does not suit .* these do: greedy, ejection$"):
        fl.plans.search(torus, fl.Collective("shfl"), "slots")
    for method in ("greedy:2", "ejection,greedy:x", "greedyy"):
        with pytest.raises(fl.SpecError, match=r"method: .*greedy"):
            fl.plans.search(torus, fl.Collective("shfl"), method)
    problem = _core.ScheduleProblem(torus.one_cycle("plans are for"), np.array([[0, 9, 8, 2]]), "minimal")
    assert problem.exact() == [("joint", 1.0)]
    assert set(problem.methods()) <= set(METHODS)


def test_late_nodes(network: fl.Network, plan: Plan) -> None:
    on_time = fl.plans.study_jitter(network, plan, jitter=0, trials=2)
    assert on_time.plan == [plan.duration] * 2
    late = fl.plans.study_jitter(network, plan, jitter=5, trials=3, separate=True)
    assert late == fl.plans.study_jitter(network, plan, jitter=5, trials=3, separate=True)
    assert min(late.plan) >= plan.duration


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "plan.json")
    command = ["schedule", "--torus", "4x4", "--pattern", "trns", "--payload", "14", "--slices", "2"]
    assert run([*command, "-o", file, "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["simulated"] == fields["duration"] <= fields["unison"]
    assert run(["check", file]) == 0
    assert run(["simulate", "--plan", file, "--jitter", "2", "--trials", "2", "--json"]) == 0
    assert run([*command, "--method", "magic"]) == 2
    assert run([*command, "--seconds", "soon"]) == 2
    assert run(["schedule", "--torus", "4x4", "--operation", "gossip"]) == 2


def test_packets_of_a_plan_are_written_with_all_their_fields() -> None:
    plan = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl", slices=2))
    for packet in plan.packets:
        assert json.loads(packet.line()) == packet.model_dump()
        # What the core made would pass as what anybody writes.
        assert type(packet).model_validate(packet.model_dump()) == packet


def test_plans_can_be_compared() -> None:
    """What is computed from a plan, or how long its search took, does not count."""
    first, again = (fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("trns")) for _ in range(2))
    assert first.table.shape == again.table.shape
    assert first == again == first
    assert first != first.model_copy(update={"packets": first.packets[1:]})
    assert first != "plan"
    one, other = (fl.collectives.plan(fl.Torus(4, 4), "all-gather") for _ in range(2))
    assert one.ground.nodes == 16
    assert one == other == one
    assert one != one.expanded()


TORUS, SHUFFLE = fl.Torus(4, 4), fl.Collective("shfl", payload=14, slices=2)


def test_plans_that_say_the_same_are_equal_and_hash_alike(network):
    ring = fl.placing.axes_traffic(fl.placing.parse_axes("data=4:ring:8,expert=4:a2a:1"))
    for make in (
        lambda: fl.plans.search(network, SHUFFLE),
        lambda: fl.collectives.plan(TORUS, "all-gather"),
        lambda: fl.tables.make(fl.Torus(4, 4)),
        lambda: fl.placing.place(fl.Torus(4, 4), ring),
        lambda: fl.Network(fl.Torus(4, 4)),
    ):
        one, other = make(), make()
        assert one is not other
        assert one == other
        assert hash(one) == hash(other)
        assert len({one, other}) == 1
    assert fl.plans.search(network, SHUFFLE) != fl.plans.search(
        network, fl.Collective("bcmp", payload=14, slices=2)
    )
    assert fl.placing.place(fl.Torus(4, 4), ring) != fl.placing.place(fl.Torus(8, 2), ring)
    assert fl.Network(fl.Torus(4, 4)) != fl.Network(fl.Torus(4, 4), fl.Router(buffer=8))
