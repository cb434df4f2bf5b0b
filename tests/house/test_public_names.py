"""Public names: nouns at the top, verbs in the module of their question; old names lead to the new ones."""

import inspect
import subprocess
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import get_overloads

import pytest

import flitloom as fl
from flitloom import _core
from flitloom.fabric import check_subnet, examples, route_subnet
from flitloom.tables import judging, making
from flitloom.tables.by_destination.checking import SubnetReport
from flitloom.tables.by_destination.tables import ForwardingTables
from flitloom.tables.by_destination.tables import read_tables as read_forwarding
from flitloom.tables.by_source.checking import check
from flitloom.tables.by_source.making import route
from flitloom.tables.formats.reading import read_tables

#: Verbs of one simulation stay beside it.
VERBS = {"lower_bound", "read_experiment", "run_experiment", "simulate", "stack"}
MODULES = {"booksim", "collectives", "load", "papers", "placing", "plans", "tables"}
MOVED = [
    *((fl, old, new) for old, new in fl._MOVED.items()),
    *((fl.collectives, old, f"collectives.{new}") for old, new in fl.collectives._MOVED.items()),
    *((fl.placing, old, f"placing.{new}") for old, new in fl.placing._MOVED.items()),
]
RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]


def test_names_at_the_top_are_nouns_but_for_those_of_one_simulation():
    small = {name for name in fl.__all__ if name[0].islower()}
    assert small == VERBS | MODULES
    assert dir(fl) == sorted(fl.__all__)
    for name in MODULES:
        module = getattr(fl, name)
        assert dir(module) == sorted(module.__all__)
        assert all(hasattr(module, one) for one in module.__all__)


#: Packages that are imported by their names.
PACKAGES = ("analysis", "campaign", "fabric", "genetic", "papers", "sweep", "view")


@pytest.mark.parametrize("name", PACKAGES)
def test_editors_offer_the_public_names_of_a_package_and_nothing_else(name):
    package = import_module(f"flitloom.{name}")
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, one) for one in package.__all__)


def public_dataclasses():
    """The frozen dataclasses among the public names, each once."""
    modules = [fl, *(import_module(f"flitloom.{name}") for name in (*sorted(MODULES), *PACKAGES))]
    values = [getattr(module, name) for module in modules for name in module.__all__]
    kinds = {value for value in values if isinstance(value, type) and is_dataclass(value)}
    frozen = {kind for kind in kinds if kind.__dataclass_params__.frozen}
    return sorted(frozen, key=lambda kind: (kind.__module__, kind.__name__))


@pytest.mark.parametrize("kind", public_dataclasses(), ids=lambda kind: kind.__name__)
def test_public_values_say_in_our_words_that_they_cannot_be_changed(kind):
    value = object.__new__(kind)
    name = fields(kind)[0].name
    object.__setattr__(value, name, 1)
    for change in (lambda: setattr(value, name, 3), lambda: delattr(value, name)):
        with pytest.raises(fl.SpecError) as error:
            change()
        assert error.value.field == f"{kind.__name__}.{name}"
        assert getattr(value, name) == 1


@pytest.mark.parametrize(("module", "old", "new"), MOVED, ids=lambda value: getattr(value, "__name__", value))
def test_names_of_before_say_the_new_one(module, old, new):
    said = f"{module.__name__}.{old} is now flitloom.{new}; the old name goes with the next release"
    with pytest.warns(FutureWarning, match=said) as told:
        value = getattr(module, old)
    assert [one.filename for one in told] == [__file__]
    home, _, name = f"flitloom.{new}".rpartition(".")
    assert value is getattr(import_module(home), name)
    assert old not in dir(module)


def test_a_name_that_never_was_is_no_name():
    for module in (fl, fl.collectives, fl.placing, fl.plans, fl.tables):
        with pytest.raises(AttributeError, match="has no attribute 'fish'"):
            _ = module.fish


@pytest.mark.parametrize("statement", ["from flitloom import plans", "import flitloom.plans.plan"])
def test_values_of_plans_import_no_search(statement):
    program = f"{statement}; import sys; assert not [n for n in sys.modules if 'scheduling' in n]"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def parameters(function):
    """Parameters but the first: their kinds, defaults and annotations."""
    return [
        (one.name, one.default, one.annotation)
        for one in list(inspect.signature(function).parameters.values())[1:]
    ]


@pytest.mark.parametrize(
    ("verb", "number", "does"),
    [
        (making.make, 0, route),
        (making.make, 1, route_subnet),
        (judging.check, 0, check),
        (judging.read, 0, read_tables),
        (judging.check, 2, check_subnet),
        (judging.read, 1, read_forwarding),
    ],
)
def test_editors_see_what_each_kind_of_network_takes(verb, number, does):
    seen, there = parameters(get_overloads(verb)[number]), parameters(does)
    # Tables of a fabric are called files here, since there may be several.
    files = int(does in (check_subnet, read_forwarding))
    assert seen[files:] == there[files:]


@pytest.mark.parametrize(
    ("network", "switches"),
    [
        ("slimfly(5)", 50),
        (fl.Graph(RING, nodes=5), 5),
        (fl.Graph(RING, nodes=5, failed_nodes=[1]), 4),
        (fl.Product("full4 x ring5"), 20),
        (fl.Product("full4 x ring5", failed_nodes=[3]), 19),
        (examples.torus((4, 4)), 16),
        (fl.tables.fabric(fl.Torus(4, 4, 8, twist=True, failed_links=[(0, 1)])), 128),
    ],
    ids=str,
)
def test_tables_by_destination_are_made_for_any_network(network, switches):
    made = fl.tables.make(network)
    assert isinstance(made, fl.tables.SubnetTables)
    assert len(made.subnet.switches) == switches
    report = fl.tables.check(made)
    assert isinstance(report, SubnetReport)
    assert report.passed
    assert report.max_load == made.report.max_load


def test_tables_by_destination_are_read_checked_and_repaired(tmp_path):
    ring = fl.tables.fabric(fl.Graph(RING, nodes=5))
    made = fl.tables.make(ring)
    made.write(tmp_path / "out")
    assert fl.tables.check(ring, tmp_path / "out").max_load == made.report.max_load
    assert isinstance(fl.tables.read(ring, tmp_path / "out"), ForwardingTables)
    left = fl.tables.fabric(ring, fail=["link:S0-S1"])
    repaired = fl.tables.repair(tmp_path / "out", left)
    assert repaired.report.passed
    assert repaired.changed > 0
    assert repaired.update.safe


def test_methods_of_both_kinds_are_named():
    named = inspect.getdoc(fl.tables.make)
    for name in ("table_methods", "forwarding_methods"):
        assert all(f"``{method}``" in named for method in _core.LISTS[name])


def test_a_file_of_a_fabric_is_one(tmp_path):
    file = tmp_path / "ring.csv"
    file.write_text("".join(f"s{a},s{b}\n" for a, b in RING))
    assert len(fl.tables.make(file).subnet.cables) == 5


def test_source_routes_are_repaired_with_what_they_were_made_with(tmp_path):
    before = fl.tables.make(fl.Torus(4, 4), method="sssp", failed_links=[(2, 3)])
    after = fl.tables.repair(before, failed_links=[(0, 1)])
    assert after.topology.is_as(fl.Torus(4, 4, failed_links=[(2, 3), (0, 1)]))
    assert (after.method, after.rules) == ("sssp", before.rules)
    assert fl.tables.check(after).passed
    before.to_json(tmp_path / "t.json")
    again = fl.tables.repair(fl.tables.read(tmp_path / "t.json"), failed_nodes=[5])
    assert (again.topology.failed_nodes, again.topology.failed_links) == ((5,), ((2, 3),))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (fl.Torus(4, 4, 8, twist=True), "fl.tables.make(fl.tables.fabric("),
        (5, 'network: 5 is not a network; give fl.Graph(...) or "dragonfly(6,3)"'),
        ("nothing(5)", "network: 'nothing' is unknown; it must be one of dragonfly"),
    ],
    ids=str,
)
def test_what_has_no_tables_is_told(network, message):
    with pytest.raises(fl.SpecError) as caught:
        fl.tables.make(network)
    assert message in str(caught.value)
    if not isinstance(network, fl.Topology):
        return
    with pytest.raises(fl.SpecError, match=r"give it to fl\.tables\.make itself"):
        fl.tables.fabric(fl.Torus(4, 4))
