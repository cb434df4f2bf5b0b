"""The package imports in any order, alone or beside libraries that bring solvers of their own."""

import ast
import functools
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

import flitloom as fl
from places import ROOT

WORK = """
import flitloom as fl
network = fl.Network(fl.Torus(4, 4))
weak = fl.plans.search(network, fl.Collective("brot"), "greedy", routes="any-order")
plan = fl.plans.search(network, fl.Collective("brot"), "greedy", routes="any-order", cp_sat_seconds=60)
assert plan.optimal and plan.method == "greedy with cp-sat" and plan.duration < weak.duration
"""
BOUND = """
import flitloom as fl
tables = fl.tables.make(fl.Torus(5, 5), failed_nodes=[0, 17], method="bfs")
assert tables.bound_value.proof == "linear program"
"""
SOLVERS = "from ortools.sat.python import cp_model; from ortools.linear_solver import pywraplp"


@pytest.mark.parametrize(
    "order",
    [[SOLVERS, "import flitloom", BOUND], [BOUND, "import flitloom", SOLVERS]],
    ids=lambda order: order[0][:12],
)
def test_solvers_of_others_and_ours_share_a_process(order):
    done = subprocess.run([sys.executable, "-c", "\n".join(order)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("order", [(SOLVERS, WORK), (WORK, SOLVERS)], ids=["before", "after"])
def test_cp_sat_works_beside_an_import_of_ortools(order):
    done = subprocess.run([sys.executable, "-c", "\n".join(order)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


#: Which modules are tried as the first one.
SEED = int(os.environ.get("PROPTEST_RNG_SEED", "1"))
PACKAGE = Path(fl.__file__).parent
#: Imports inside functions.
MOST_INNER = 100
#: Lines of a function outside `commands`.
LONGEST = 80
#: Several tests read the same files.
parsed = functools.cache(ast.parse)


def modules():
    """The text of every module by its name."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = ["flitloom", *file.relative_to(PACKAGE).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_text(encoding="utf-8")
    return found


def statements(node, inside=False, typed=False):
    """Imports below a node with whether they are inside a function; those of type checkers if asked for."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test) and not typed:
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, inside
        yield from statements(child, inside or isinstance(child, ast.FunctionDef), typed)


def targets(statement, known):
    """Modules of the package that an import names."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    else:
        below = {alias.name: f"{statement.module}.{alias.name}" for alias in statement.names}
        names = [below[name] if below[name] in known else statement.module for name in below]
    return [name for name in names if name in known]


def arrows():
    """Which module uses which, counting imports inside functions."""
    known = modules()
    for name, text in known.items():
        for statement, _ in statements(parsed(text)):
            for target in targets(statement, known):
                yield name, target
                # Packages around a module are imported before it.
                parts = target.split(".")
                around = (".".join(parts[:depth]) for depth in range(2, len(parts)))
                yield from ((name, package) for package in around if not name.startswith(package))


def circles(pairs):
    found = networkx.strongly_connected_components(networkx.DiGraph(pairs))
    return [sorted(part) for part in found if len(part) > 1]


def test_no_modules_lead_back_to_themselves():
    pairs = [(a, b) for a, b in arrows() if a != b]
    assert len(pairs) > 1000
    assert circles(pairs) == []


def rooms():
    """Rooms of the package, as ARCHITECTURE.md orders them."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `python/flitloom/(\w+)/` \|", text, re.MULTILINE)


def downward(order):
    """Imports of rooms that stand below in an order, or of files in no room, which may import all rooms."""
    place = {room: number for number, room in enumerate(order)}
    for name, target in arrows():
        user, used = (one.partition(".")[2].partition(".")[0] for one in (name, target))
        if used and user != used and place.get(used, len(order)) >= place.get(user, len(order)):
            yield f"{name} uses {target}"


def test_every_room_is_in_the_table():
    found = {file.relative_to(PACKAGE).parts[0] for file in PACKAGE.glob("*/**/*.py")}
    assert set(rooms()) == found
    assert len(rooms()) == len(found)


def test_rooms_use_only_rooms_above_them():
    order = rooms()
    assert list(downward(order)) == []
    # Two rooms the other way round are noticed.
    wrong = ["spec" if room == "errors" else "errors" if room == "spec" else room for room in order]
    assert any("uses flitloom.errors" in line for line in downward(wrong))


def test_no_files_lead_back_to_themselves_for_type_checkers():
    known = modules()
    # What a package's own file lists is elsewhere.
    files = {name for name in known if not (PACKAGE / "/".join(name.split(".")[1:]) / "__init__.py").exists()}
    pairs = [
        (name, target)
        for name, text in known.items()
        for statement, _ in statements(parsed(text), typed=True)
        for target in targets(statement, known)
        if target in files
    ]
    assert ("flitloom.spec.any_network", "flitloom.fabric.model") in pairs
    assert circles(pairs) == []


def test_a_circle_through_a_function_is_found(monkeypatch):
    late = {"flitloom.a": "import flitloom.b", "flitloom.b": "def f():\n    from flitloom import a"}
    monkeypatch.setattr(sys.modules[__name__], "modules", lambda: late)
    assert circles(arrows()) == [["flitloom.a", "flitloom.b"]]


@pytest.mark.long
def test_every_module_can_be_the_first_one():
    """A module whose imports never lead back to it is as good a start as any; some are tried."""
    names = sorted(set(modules()) - {"flitloom.__main__"})
    assert len(names) > 80
    drawn = random.Random(SEED).sample(names, 30)
    program = f"""
import importlib, sys
for name in {drawn!r}:
    for known in list(sys.modules):
        if known.startswith("flitloom") and known != "flitloom._core":
            del sys.modules[known]
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), f"seed {SEED}: {drawn}"


def test_nothing_uses_the_command_line():
    above = {a for a, b in arrows() if b.startswith("flitloom.commands")}
    assert {name for name in above if not name.startswith("flitloom.commands")} == {"flitloom.__main__"}


def test_few_imports_are_inside_functions():
    inner = [
        f"{name}: {ast.unparse(statement)}"
        for name, text in modules().items()
        for statement, inside in statements(parsed(text))
        if inside
    ]
    assert len(inner) <= MOST_INNER, inner


def test_functions_are_short():
    long = {
        f"{name}.{node.name}": node.end_lineno - node.lineno + 1
        for name, text in modules().items()
        if not name.startswith("flitloom.commands")
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= LONGEST
    }
    assert long == {}
