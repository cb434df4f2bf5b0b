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
from flitloom import _core
from flitloom.collectives.plan import CollectivePlan
from flitloom.commands import assembly
from flitloom.genetic import GeneticSettings
from flitloom.routing import generate
from flitloom.spec.router import SchemeName
from flitloom.spec.traffic import OTHER_NAMES, PatternName

LISTS = _core.LISTS
PACKAGE = Path(fl.__file__).parent
DOCS = PACKAGE.parent.parent / "docs"
#: Fields of specs that take a name of a list.
FIELDS = [
    (fl.Router, "flow_control", "flow_controls", {}),
    (fl.Router, "datelines", "datelines", {}),
    (fl.Router, "processor_queues", "processor_queues", {}),
    (fl.Router, "variant", "variants", {}),
    (fl.Router, "arbitration", "schemes", {}),
    (fl.Router, "routing", "routings", {}),
    (fl.Collective, "pattern", "patterns", {}),
    (fl.Load, "process", "processes", {"pattern": "rand", "rate": 0.1, "cycles": 9}),
    (GeneticSettings, "ties", "ties", {}),
    (GeneticSettings, "beginning", "beginnings", {}),
    (GeneticSettings, "acceptance", "acceptances", {}),
    (GeneticSettings, "interval_limit", "interval_limits", {}),
    (GeneticSettings, "objective", "objectives", {}),
    (GeneticSettings, "sort_key", "sort_keys", {}),
]
#: Lists that are not ours: the numbers of another format.
OTHERS = {"traces/chakra.py"}


def test_lists_name_nothing_twice():
    for names in LISTS.values():
        assert len(set(names)) == len(names) > 1


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
            assert _core.Destinations.of_pattern(network._core, member, 0.1, None, 1)
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
        (fl.Load, "process", "processes"),
        (fl.route, "method", "table_methods"),
        (fl.route, "turns", "turns"),
    ],
)
def test_docstrings_name_them_all(documented, parameter, name):
    found = re.search(rf"^\s*{parameter} : {{(.*?)}}", inspect.getdoc(documented), re.MULTILINE)
    assert set(re.findall(r'"(.+?)"', found[1])) == set(LISTS[name])


def test_what_editors_offer_is_the_list():
    assert get_args(PatternName) == LISTS["patterns"]
    assert get_args(SchemeName) == LISTS["schemes"]
    assert set(OTHER_NAMES.values()) <= set(LISTS["patterns"])
    assert (LISTS["table_methods"], LISTS["turns"]) == (generate.METHODS, generate.TURNS)


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
        for parameter, values in parameters:
            assert re.search(rf"`{name}:[^`]*{parameter}=", text), f"{name}:{parameter}"
            with pytest.raises(fl.SpecError, match=re.escape(f"it must be {values}")):
                _core.throttle_text(f"{name}:{parameter}=wrong")


def test_schemas_name_them_all():
    schema = json.loads((PACKAGE / "routing" / "schema.json").read_text(encoding="utf-8"))
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


def test_no_list_is_written_a_second_time():
    """Whoever names all members of a list takes it from the core; what editors offer is held against it."""
    known = [set(members) for members in LISTS.values()]
    known.append({name for short, long, _ in _core.routing_functions() for name in (short, long)})
    known += [{*LISTS["routes"], "staircase"}, {*LISTS["collectives"], "all-to-all-v"}]
    known.append({"exact", *LISTS["schedule_methods"], "genetic"})
    again = []
    for file in PACKAGE.rglob("*.py"):
        place = file.relative_to(PACKAGE).as_posix()
        # Tables of papers are in the order of the papers.
        if place in OTHERS or place.startswith("papers/"):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        offers = [
            node for node in ast.walk(tree) if getattr(getattr(node, "value", None), "id", "") == "Literal"
        ]
        offered = {id(child) for offer in offers for child in ast.walk(offer)}
        for node, names in literals(tree):
            full = [name for name, members in LISTS.items() if len(members) > 2 and names >= set(members)]
            if full and not (id(node) in offered and names in known):
                again.append(f"{place}:{node.lineno}: {', '.join(full)}")
    assert not again
