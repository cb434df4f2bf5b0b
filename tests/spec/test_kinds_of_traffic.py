"""A kind of traffic is one file: one that only this test has works wherever the others do."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pytest

import flitloom as fl
from flitloom import _core
from flitloom.analysis.demands import make_demands
from flitloom.commands import run
from flitloom.commands.actions.schemas import schema
from flitloom.jobs import Store
from flitloom.networks.experiment import build_experiment
from flitloom.run.simulation import experiment_memory
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.base import whole
from flitloom.spec.traffic.fields import Length
from flitloom.spec.traffic.known import KINDS
from flitloom.sweep import Sweep, run_sweep, sweep_rows
from verbs import answer, leave_settings, refused

PACKAGE = Path(fl.__file__).parent
LIST = PACKAGE / "spec" / "traffic"


class Shift(PlannedTraffic):
    """Every node sends one packet to the node some places further.

    Parameters
    ----------
    places : int
        How much higher the number of the destination is.
    length : int
        Flits per packet, the header included.
    """

    noun: ClassVar[str] = "a shift"
    positional: ClassVar[str] = "places"

    kind: Literal["shift"] = "shift"
    places: Annotated[int, whole(1, 1000)] = 1
    length: Length = 8

    def table(self, nodes):
        return [(node, (node + self.places) % nodes, self.length, 0, 0) for node in range(nodes)]

    def describe(self, network):
        return f"shift by {self.places} on {network.topology}"

    def workload(self, network, seed):
        del seed
        return _core.Workload.packets(network.core, np.array(self.table(network.nodes)))

    def count(self, nodes):
        return nodes

    @property
    def longest(self):
        return self.length

    def to_plan(self, network, seed):
        del seed
        return [(*row[:3], 1) for row in self.table(network.nodes)], f"shift by {self.places}"

    def pair_flits(self, nodes):
        return np.array(self.table(nodes))[:, :3]


@pytest.fixture
def shift(monkeypatch, tmp_path):
    """A folder with a spec of the kind, which the list has for as long as the test takes."""
    leave_settings(monkeypatch, tmp_path)
    monkeypatch.setitem(KINDS, "shift", Shift)
    fl.Experiment.model_rebuild(force=True)
    spec = '[topology]\nsizes = "8x8"\n[traffic]\nkind = "shift"\nplaces = 3\nlength = 6\n'
    (tmp_path / "shift.toml").write_text(spec)
    yield tmp_path
    monkeypatch.undo()
    fl.Experiment.model_rebuild(force=True)


@pytest.fixture
def listed():
    """The same packets as a list."""
    rows = [(node, (node + 3) % 64, 6, 0) for node in range(64)]
    return fl.simulate(fl.Network("8x8"), fl.Packets(rows))


@pytest.mark.usefixtures("shift")
def test_it_is_simulated_as_its_packets_are(listed, capsys):
    told = answer("simulate shift.toml", capsys)
    assert (told["fingerprint"], told["bound"]) == (listed.fingerprint, listed.lower_bound)
    assert told["spec"]["traffic"] == {"kind": "shift", "places": 3, "length": 6}
    found = fl.simulate(fl.Network("8x8"), Shift(3, length=6))
    assert found.fingerprint == listed.fingerprint
    assert fl.lower_bound(fl.Network("8x8"), Shift(3, length=6)) == listed.lower_bound
    assert "shift by 3 on 8x8 torus" in found._repr_html_()
    pipelined = fl.Network("dragonfly(3,1,2)")
    rows = [(node, (node + 3) % 24, 6, 0) for node in range(24)]
    same = fl.simulate(pipelined, Shift(3, length=6)), fl.simulate(pipelined, fl.Packets(rows))
    assert same[0].fingerprint == same[1].fingerprint


@pytest.mark.usefixtures("shift")
def test_a_checkpoint_and_windows_have_it(listed, capsys):
    assert run(["simulate", "shift.toml", "--stop-at", "5", "--checkpoint", "half.flit"]) == 0
    sim = fl.Simulation(fl.Network("8x8"), Shift(3, length=6), windows=4)
    sim.step(5)
    sim.save("begun.flit")
    again = fl.Simulation.load("begun.flit")
    again.run()
    assert again.totals.fingerprint == listed.fingerprint
    windows = again.windows()
    assert windows.attrs["packet_length"] == 6
    assert int(windows.offered_flits.sum()) == int(windows.generated_flits.sum()) == 64 * 6
    capsys.readouterr()


def test_it_is_drawn(shift, capsys):
    assert run(["simulate", "shift.toml", "--out", "r.nc", "--picture", "r.svg", "--html", "r.html"]) == 0
    assert "shift by 3 on 8x8 torus" in (shift / "r.svg").read_text()
    assert "shift by 3 on 8x8 torus" in (shift / "r.html").read_text()
    assert run(["view", "shift.toml", "--out", "page.html"]) == 0
    assert "shift by 3 on 8x8 torus" in (shift / "page.html").read_text()
    capsys.readouterr()


@pytest.mark.usefixtures("shift")
def test_it_is_swept():
    spec = {"topology": {"sizes": "4x4"}, "traffic": {"kind": "shift", "places": 1}}
    points, store = Sweep(spec, {"traffic.places": [1, 4]}).points(), Store(":memory:")
    assert run_sweep(points, store, executor=ThreadPoolExecutor(1)) == 2
    # One hop each: h + L + 1, and a node at the edge of a row is two hops from its next.
    assert [row["duration"] for row in sweep_rows(points, store)] == [11, 10]


@pytest.mark.usefixtures("shift")
def test_its_memory_is_known(monkeypatch, capsys):
    spec = {"topology": {"sizes": "64x64"}, "traffic": {"kind": "shift", "length": 6}}
    listed = [[node, (node + 1) % 4096, 6, 0] for node in range(4096)]
    packets = {**spec, "traffic": {"kind": "packets", "table": listed}}
    assert experiment_memory(build_experiment(spec)) == experiment_memory(build_experiment(packets))
    monkeypatch.setattr("flitloom.run.outlook.memory_there", lambda: (1000, 10**9))
    assert "are needed and this machine has 1.0 kB" in refused("simulate shift.toml", capsys)


@pytest.mark.usefixtures("shift")
def test_it_is_planned_and_bounded():
    network = fl.Network("8x8")
    plan = fl.plans.search(network, Shift(3, length=6), "greedy")
    assert fl.plans.check(plan)["passed"]
    assert plan.traffic == "shift by 3"
    plan.require_traffic(network, Shift(3, length=6))
    rows = [(node, (node + 3) % 64, 6, 0) for node in range(64)]
    with pytest.raises(fl.SpecError, match=r"plan.traffic: the plan is for shift by 3, not for shift by 4"):
        plan.require_traffic(network, Shift(4, length=6))
    mine, other = make_demands(network, Shift(3, length=6)), make_demands(network, fl.Packets(rows))
    assert (mine.pairs == other.pairs[np.argsort(other.pairs[:, 0])]).all()
    with pytest.raises(fl.SpecError, match="needs a collective, packets, a matrix, a shift or an operation"):
        fl.plans.search(network, fl.Load("rand", rate=0.1, cycles=9))


@pytest.mark.usefixtures("shift")
def test_messages_and_schemas_name_it(capsys):
    Path("none.toml").write_text('[topology]\nsizes = "8x8"\n[traffic]\nplaces = 3\n')
    wanted = "must be collective, load, packets, matrix, messages or shift"
    assert wanted in refused("simulate none.toml", capsys)
    assert "traffic.places: 1001 is out of range; it must be 1 to 1000" in refused(
        "simulate shift.toml --set traffic.places=1001", capsys
    )
    told = schema("experiment")
    assert told["properties"]["traffic"]["oneOf"][-1] == {"$ref": "#/$defs/Shift"}
    about = "How much higher the number of the destination is."
    assert told["$defs"]["Shift"]["properties"]["places"]["description"] == about
    assert refused("load curve shift.toml --rates 0.1", capsys) == (
        "traffic.kind: is shift, and flitloom load sends at a rate; flitloom simulate runs it"
    )
    with pytest.raises(fl.SpecError, match=r"^traffic: .* is not a collective; give fl.Collective"):
        fl.stack(fl.Network("8x8"), Shift(3))


#: What asks of which type something is. Functions for one kind ask `AnyTraffic.of`, which refuses the others.
ASKS = {"isinstance", "issubclass", "require_kind"}
#: A program of its own, which reads two kinds of specs that certificates hold.
ALONE = PACKAGE / "programs" / "recheck.py"


def questions(tree):
    """Expressions that ask of which kind traffic is, by its type or by its name."""
    types = {kind.__name__ for kind in KINDS.values()} | {"Patterned"}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[_, *among]) if name in ASKS:
                named = {one.id for part in among for one in ast.walk(part) if isinstance(one, ast.Name)}
                asks = bool(named & types)
            case ast.MatchClass(cls=ast.Name(id=name)):
                asks = name in types
            case ast.Compare():
                texts = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
                asks = "kind" in ast.unparse(node) and bool(texts & set(KINDS))
            case _:
                continue
        if asks:
            yield ast.unparse(node)


def test_nobody_asks_what_kind_traffic_is():
    files = [file for file in sorted(PACKAGE.rglob("*.py")) if LIST not in file.parents and file != ALONE]
    assert len(files) > 300
    asked = [
        f"{file.relative_to(PACKAGE)}: {text}"
        for file in files
        for text in questions(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert asked == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(spec.traffic, Load | Messages)",
        'require_kind("traffic", traffic, Collective, "collective", "")',
        "match traffic:\n    case Packets() if traffic.routes:\n        pass",
        'spec.traffic.kind == "load"',
        'traffic.get("kind") in ("matrix", "messages")',
    ],
)
def test_a_question_for_a_kind_is_found(code):
    assert len([*questions(ast.parse(code))]) == 1


def test_every_kind_has_a_file():
    for name, kind in KINDS.items():
        assert kind.model_fields["kind"].default == name
        text = (LIST / f"{kind.__module__.rpartition('.')[2]}.py").read_text(encoding="utf-8")
        assert [one.__name__ for one in KINDS.values() if f"class {one.__name__}(" in text] == [kind.__name__]
