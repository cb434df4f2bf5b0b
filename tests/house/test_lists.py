"""Every closed list of names is written once, in the core: specs, help and documents say the same."""

import ast
import inspect
import json
import re
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

import flitloom as fl
from costs import costly
from flitloom import _core
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.commands import assembly
from flitloom.genetic import GeneticSettings
from flitloom.scheduling import search
from flitloom.spec.router import SchemeName
from flitloom.spec.traffic.patterned import OTHER_NAMES, PatternName
from flitloom.tables.by_source import making

LISTS = _core.LISTS
PACKAGE = Path(fl.__file__).parent
DOCS = PACKAGE.parent.parent / "docs"
#: Fields of specs that take a name of a list.
FIELDS = [
    (fl.Router, "flow_control", "flow_controls", {}),
    (fl.Router, "datelines", "datelines", {}),
    (fl.Router, "processor_queues", "processor_queues", {}),
    (fl.Router, "variant", "variants", {}),
    (fl.Router, "north", "norths", {}),
    (fl.Router, "arbitration", "schemes", {}),
    (fl.Router, "routing", "routings", {}),
    (fl.Router, "buffer_policy", "buffer_policies", {"model": "pipelined"}),
    (fl.Router, "priority", "priorities", {"model": "pipelined"}),
    (fl.Collective, "pattern", "patterns", {}),
    (fl.Load, "process", "processes", {"pattern": "rand", "rate": 0.1, "cycles": 9}),
    (GeneticSettings, "ties", "ties", {}),
    (GeneticSettings, "beginning", "beginnings", {}),
    (GeneticSettings, "acceptance", "acceptances", {}),
    (GeneticSettings, "interval_limit", "interval_limits", {}),
    (GeneticSettings, "objective", "objectives", {}),
    (GeneticSettings, "sort_key", "sort_keys", {}),
]
#: Lists that are not ours: the numbers of another format, and what a program that shares no code has to know.
OTHERS = {"traces/chakra.py", "programs/recheck.py"}


def test_lists_name_nothing_twice():
    for names in (names for place, names in LISTS.items() if place != "forwarding_kinds"):
        assert len(set(names)) == len(names) > 1
    # A kind stands for every method, in its place.
    assert len(LISTS["forwarding_kinds"]) == len(LISTS["forwarding_methods"])


@pytest.mark.parametrize(("part", "field", "name", "more"), FIELDS, ids=[field[1] for field in FIELDS])
def test_specs_take_the_names_of_the_list_and_no_others(part, field, name, more):
    for member in LISTS[name]:
        assert getattr(part(**{field: member}, **more), field) == member
    with pytest.raises(fl.SpecError) as caught:
        part(**{field: "zzz"}, **more)
    assert all(member in str(caught.value) for member in LISTS[name])


@pytest.mark.parametrize("name", ["schemes", "routings", "patterns"])
def test_the_core_takes_them_too(name):
    network = fl.Network(fl.Torus(4, 4), fl.Router(buffer=16, flow_control="cut-through"))
    for member in LISTS[name]:
        if name == "patterns":
            assert _core.Destinations.of_pattern(network.core, member, 0.1, None, 1)
        else:
            field = {"schemes": "arbitration", "routings": "routing"}[name]
            router = fl.Router(buffer=16, flow_control="cut-through", **{field: member})
            assert fl.Network(fl.Torus(4, 4), router).channels >= 3


@pytest.mark.parametrize(
    ("documented", "parameter", "name"),
    [
        (fl.Router, "flow_control", "flow_controls"),
        (fl.Router, "datelines", "datelines"),
        (fl.Router, "processor_queues", "processor_queues"),
        (fl.Router, "variant", "variants"),
        (fl.Router, "north", "norths"),
        (fl.Load, "process", "processes"),
        (fl.tables.make, "turns", "turns"),
        (fl.plans.search, "routes", "routes"),
    ],
)
def test_docstrings_name_them_all(documented, parameter, name):
    found = re.search(rf"^\s*{parameter} : {{(.*?)}}", inspect.getdoc(documented), re.MULTILINE)
    more = {"staircase"} if name == "routes" else set()
    assert set(re.findall(r'"(.+?)"', found[1])) == set(LISTS[name]) | more


def test_what_editors_offer_is_the_list():
    assert get_args(PatternName) == LISTS["patterns"]
    assert get_args(SchemeName) == LISTS["schemes"]
    assert set(OTHER_NAMES.values()) <= set(LISTS["patterns"])
    assert LISTS["table_methods"] == making.METHODS
    assert set(get_args(making.MethodName)) == set(LISTS["table_methods"])
    assert set(get_args(search.RoutesName)) == {*LISTS["routes"], "staircase"}
    assert set(get_args(search.MethodName)) == {"exact", *LISTS["schedule_methods"], "genetic"}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["simulate"], "patterns"),
        (["simulate"], "routings"),
        (["simulate"], "schemes"),
        (["simulate"], "throttles"),
        (["simulate"], "flow_controls"),
        (["load", "curve"], "processes"),
        (["load", "curve"], "throttles"),
        (["load", "bound"], "patterns"),
        (["schedule"], "operations"),
        (["route"], "turns"),
        (["route"], "table_methods"),
        (["jitter"], "routes"),
        (["collective"], "collectives"),
    ],
)
def test_help_names_them_all(words, name):
    shown = CliRunner().invoke(assembly.build(words), [*words, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    # Lines may be broken within names.
    text = "".join(shown.output.split())
    assert not [member for member in LISTS[name] if member not in text]


def rows(page, heading):
    """First cells of the table under a heading of a page, without their parameters."""
    text = (DOCS / page).read_text(encoding="utf-8").split(heading)[1]
    table = re.search(r"((?:^\|.*\n)+)", text, re.MULTILINE)[1].splitlines()[2:]
    return [re.split(r"[`:]", row.split("|")[1].strip(" `"))[0] for row in table]


@pytest.mark.parametrize(
    ("page", "heading", "name"),
    [
        ("throttles.md", "## The rules", "throttles"),
        ("glossary.md", "## Patterns", "patterns"),
    ],
)
def test_tables_of_the_documents_name_them_all(page, heading, name):
    assert set(rows(page, heading)) == set(LISTS[name])


def test_every_parameter_of_a_throttle_is_documented():
    text = (DOCS / "throttles.md").read_text(encoding="utf-8")
    for name, summary, parameters in _core.throttles():
        assert summary
        for parameter, values in parameters if name in LISTS["throttles"] else ():
            assert re.search(rf"`{name}:[^`]*{parameter}=", text), f"{name}:{parameter}"
            with pytest.raises(fl.SpecError, match=re.escape(f"it must be {values}")):
                _core.throttle_text(f"{name}:{parameter}=wrong")


def test_every_variable_of_an_expression_is_documented():
    section = (DOCS / "throttles.md").read_text(encoding="utf-8").split("## ")[2]
    documented = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    assert documented == _core.throttle_variables()


def test_schemas_name_them_all():
    schema = json.loads((PACKAGE / "tables" / "schema.json").read_text(encoding="utf-8"))
    enums = re.findall(r'"enum": (\[.*?\])', json.dumps(schema))
    assert sorted(LISTS["rules"]) in [sorted(map(str, json.loads(enum))) for enum in enums]
    plan = CollectivePlan.model_json_schema()["properties"]["operation"]
    assert plan["enum"] == [*LISTS["collectives"], "all-to-all-v"]


def literals(tree):
    """Tuples, lists, sets and keys of dictionaries that are all texts."""
    for node in ast.walk(tree):
        entries = getattr(node, "keys" if isinstance(node, ast.Dict) else "elts", None)
        if entries and all(isinstance(entry, ast.Constant) for entry in entries):
            yield node, {str(entry.value) for entry in entries}


#: Every list, and those that a part of the package makes of one or two.
KNOWN = [
    *(set(members) for members in LISTS.values()),
    {name for short, long, _ in _core.routing_functions() for name in (short, long)},
    {*LISTS["routes"], "staircase"},
    {*LISTS["collectives"], "all-to-all-v"},
    {"exact", *LISTS["schedule_methods"], "genetic"},
]
#: Nearly whole lists that are meant to be a part of one, and why.
PARTS = {
    ("collectives/advice.py", "operations"): "operations that algorithms are known for",
    ("collectives/checking.py", "operations"): "operations whose result every node holds a part of",
    ("collectives/mscclpp/write.py", "operations"): "operations that the format knows",
    ("collectives/msccl/write.py", "operations"): "operations that the format knows",
}


def offers(tree):
    """What annotations offer, as sets of texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
            yield (
                node,
                {str(child.value) for child in ast.walk(node.slice) if isinstance(child, ast.Constant)},
            )


def written_again(tree, place=""):
    """Lists that a module writes out, whole or but for a few members, where it could take the core's."""
    offered = set()
    for node, names in offers(tree):
        offered |= {id(child) for child in ast.walk(node)}
        near = [name for name, members in LISTS.items() if len(names & set(members)) > 1]
        if near and names not in KNOWN:
            yield f"{place}:{node.lineno}: offers another list than {', '.join(near)}"
    for node, names in literals(tree):
        for name, members in LISTS.items():
            missing = set(members) - names
            # A member or two that were added to the list since.
            stale = 0 < len(missing) <= (1 if len(members) < 6 else 2) < len(members) - 2
            full = not missing and len(members) > 2
            if (full or stale) and id(node) not in offered and (place, name) not in PARTS:
                yield f"{place}:{node.lineno}: {name}, without {missing or 'none'}"


def test_no_list_is_written_a_second_time():
    """Whoever names all members of a list takes it from the core; what editors offer is held against it."""
    again = []
    for file in PACKAGE.rglob("*.py"):
        place = file.relative_to(PACKAGE).as_posix()
        # Tables of papers are in the order of the papers.
        if place not in OTHERS and not place.startswith("papers/"):
            again += written_again(ast.parse(file.read_text(encoding="utf-8")), place)
    assert not again


@pytest.mark.parametrize("name", [name for name, members in LISTS.items() if len(members) > 3])
def test_lists_that_have_grown_since_are_seen(name):
    """Written out whole or without any one member, as a value or as what editors offer, in whatever order."""
    members = LISTS[name]
    for left in [None, *members]:
        texts = ", ".join(f'"{member}"' for member in reversed(members) if member != left)
        for module in (
            f"NAMES = ({texts})",
            f"kinds = {{key: 0 for key in [{texts}]}}",
            f"NAMES = {{{texts}}}",
        ):
            assert list(written_again(ast.parse(module))), (module, left)
        offered = {member for member in members if member != left}
        known = left is None or offered in KNOWN
        assert bool(list(written_again(ast.parse(f"Name = Literal[{texts}]")))) != known
    assert not list(written_again(ast.parse(f'NAMES = ("{members[0]}", "something else", "{members[1]}")')))


def test_costly_tests_exist() -> None:
    def functions(file: Path) -> set[str]:
        return {
            node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)
        }

    folder = Path(__file__).parent.parent
    listed = [one.partition("::")[::2] for one in sorted(costly())]
    assert [pair for pair in listed if pair[1] not in functions(folder / pair[0])] == []
    assert len(listed) > 50
