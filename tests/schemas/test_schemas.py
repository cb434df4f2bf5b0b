"""Schemas of files: what the code says, at one with the reader, understood by what editors use."""

import copy
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import jsonschema
import pydantic
import pytest

import flitloom as fl
from flitloom import spec
from flitloom.campaign import Campaign, read_campaign
from flitloom.commands import run
from flitloom.commands.actions.schemas import FILES, schema
from flitloom.genetic import GeneticSettings
from flitloom.networks.experiment import Experiment, build_experiment
from flitloom.networks.fabric import Fabric
from flitloom.spec import OTHER_NAMES, PATTERNS, SCHEMES
from places import ROOT

EXAMPLES = ROOT / "examples"
MODELS = {
    one.__name__: one
    for one in (*(getattr(spec, name) for name in spec.__all__), Experiment, Fabric, GeneticSettings)
    if isinstance(one, type)
}


@pytest.mark.parametrize("file", FILES)
def test_schemas_in_the_examples_are_what_the_code_says(file, capsys):
    jsonschema.Draft202012Validator.check_schema(schema(file))
    assert run(["config", "schema", file]) == 0
    assert (EXAMPLES / "schemas" / f"{file}.json").read_text(encoding="utf-8") == capsys.readouterr().out
    assert json.loads((EXAMPLES / "schemas" / f"{file}.json").read_text(encoding="utf-8")) == schema(file)


@pytest.mark.parametrize("example", sorted(EXAMPLES.rglob("*.toml")), ids=lambda file: file.stem)
def test_examples_name_their_schema_and_obey_it(example):
    first = example.read_text(encoding="utf-8").splitlines()[0]
    named = (example.parent / first.removeprefix("#:schema ")).resolve()
    jsonschema.validate(
        tomllib.loads(example.read_text(encoding="utf-8")), json.loads(named.read_text("utf-8"))
    )


def taplo(folder):
    """What the program behind editors says of all files of a folder."""
    program = Path(sys.executable).with_name("taplo")
    done = subprocess.run(
        [program, "check", *map(str, folder.rglob("*.toml"))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_what_editors_use_finds_what_is_wrong(tmp_path):
    assert run(["examples", "copy", "-o", str(tmp_path)]) == 0
    code, told = taplo(tmp_path)
    assert code == 0, told
    file = tmp_path / "shuffle.toml"
    good = file.read_text(encoding="utf-8")
    for right, wrong in (
        ("buffer = 4", "buffer = 0"),
        ("payload = 14", "paylod = 14"),
        ('"C00"', '"C10"'),
        ("[16, 16]", "[16, 1]"),
    ):
        file.write_text(good.replace(right, wrong))
        code, told = taplo(tmp_path)
        assert code != 0
        assert "shuffle.toml" in told


#: Tables of a network as people write them, and whether they are right.
TOPOLOGIES = [
    ('network = "full4 x ring3"', True),
    ('network = "full4 x ring3"\nfailed_nodes = [1]\nfailed_links = ["(0,1)+y"]', True),
    ('network = "dragonfly(3,1,2)"', True),
    ('network = "dragonfly(3,1,2)"\nfailed = ["node:g0s1"]', True),
    ('graph = "net.csv"', True),
    ('graph = "net.csv"\nhosts = "a,c"', True),
    ('graph = "net.csv"\nhosts = ["a", "c-d"]', True),
    ('graph = "net.csv"\nhosts = [0, 2]', True),
    ('graph = "net.csv"\nhosts = []', True),
    ("cables = [[0, 1], [1, 2]]\nnodes = 3", True),
    ("", False),
    ("network = 5", False),
    ('graph = "net.csv"\nnetwork = "full4 x full4"', False),
    ('grph = "net.csv"', False),
    ('graph = "net.csv"\nhosts = [[0, 2]]', False),
    ('hosts = "a,c"', False),
    ('sizes = "4x4"\nhosts = "a,c"', False),
    ("cables = [[0, 1], [1, 2]]", False),
]


def test_schema_and_reader_agree_on_tables_of_a_network(tmp_path):
    assert run(["examples", "copy", "-o", str(tmp_path)]) == 0
    (tmp_path / "net.csv").write_text("a,b\nb,c\nc,c-d\nc-d,a\n")
    said = jsonschema.Draft202012Validator(schema("experiment"))
    for number, (table, right) in enumerate(TOPOLOGIES):
        file = tmp_path / f"net{number}.toml"
        model = "one-cycle" if "failed_nodes" in table else "pipelined"
        text = f'[topology]\n{table}\n[router]\nmodel = "{model}"\n[traffic]\nkind = "load"\n'
        text += 'pattern = "rand"\nrate = 0.1\ncycles = 9\n'
        file.write_text(f"#:schema schemas/experiment.json\n{text}")
        assert said.is_valid(tomllib.loads(text)) == right, table
        if right:
            assert fl.read_experiment(file).topology.nodes >= 2
        else:
            with pytest.raises(fl.SpecError):
                fl.read_experiment(file)
    _, told = taplo(tmp_path)
    wrong = {number for number in range(len(TOPOLOGIES)) if f"net{number}.toml" in told}
    assert wrong == {number for number, (_, right) in enumerate(TOPOLOGIES) if not right}


def fields():
    """Every field of every part with what the schema says of it."""
    definitions = {**schema("campaign")["$defs"], **schema("experiment")["$defs"]}
    definitions["Experiment"] = schema("experiment")
    for name, definition in definitions.items():
        for field, said in definition["properties"].items():
            if field in MODELS[name].model_fields:
                yield pytest.param(MODELS[name].model_fields[field], said, id=f"{name}.{field}")


def accepts(field, value):
    try:
        kind = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        pydantic.TypeAdapter(kind).validate_python(value)
    except (pydantic.ValidationError, fl.SpecError):
        return False
    return True


@pytest.mark.parametrize(("field", "said"), list(fields()))
def test_schema_and_reader_agree_on_every_field(field, said):
    assert said.get("description") or "const" in said
    validator = jsonschema.Draft202012Validator({**said, "$defs": schema("experiment")["$defs"]})
    forms = [form for form in said.get("anyOf", [said]) if form.get("type") != "null"]
    values = [True, 1.5, -1, 2**70, "nonsense", {}, [{"nonsense": 1}], [-1], ["nonsense"], [True]]
    for form in forms:
        for low in ("minimum", "exclusiveMinimum"):
            if low in form:
                values += [form[low], form[low] - 1]
        if "maximum" in form:
            values += [form["maximum"], form["maximum"] + 1]
        values += form.get("enum", [])
    checked = 0
    for value in values:
        said_so = validator.is_valid(value)
        # Files are looked for by the reader only; booleans are numbers to Python, never to us.
        if isinstance(value, str) and any(form.get("description", "").endswith(" file") for form in forms):
            continue
        assert accepts(field, value) == said_so, value
        checked += 1
    assert checked >= 5


def test_every_name_is_offered():
    definitions = schema("experiment")["$defs"]
    assert set(definitions["Collective"]["properties"]["pattern"]["enum"]) == {*PATTERNS, *OTHER_NAMES}
    assert definitions["Router"]["properties"]["arbitration"]["anyOf"][0]["enum"] == [*SCHEMES, "packet"]
    assert definitions["Router"]["properties"]["preset"]["enum"] == ["machine", "t15", "s07", "cup-stacking"]


@pytest.mark.parametrize(
    "change",
    [
        {"router": {"preset": "s07"}},
        {"router": {"arbitration": ["C00"] * 80}},
        {"throttle": "spth:8"},
        {"topology": {"sizes": [4, 4], "failed_links": [[0, 1], "4-5"]}},
        {"traffic": {"kind": "packets", "table": [[0, 5, 8, 0], [1, 4, 8, 0, 1]]}},
        {"traffic": {"kind": "matrix", "matrix": [[0, 1] * 8] * 16}},
        {"traffic": {"kind": "messages", "graph": "num_ranks 2\n", "nodes": [3, 1]}},
        {
            "traffic": {
                "kind": "load",
                "classes": [{"pattern": "uniform"}],
                "profile": [[0, 0.0], [5, 0.5]],
                "cycles": 9,
            }
        },
    ],
)
def test_what_the_reader_accepts_obeys_the_schema(change):
    fields = {"topology": {"sizes": "4x4"}, "traffic": {"kind": "collective", "pattern": "shfl"}, **change}
    build_experiment(copy.deepcopy(fields))
    jsonschema.validate(fields, schema("experiment"))


@pytest.mark.parametrize(
    "change",
    [
        {"router": {"preset": "t16"}},
        {"throttle": "nonsense"},
        {"traffic": {"pattern": "shfl"}},
        {"traffic": {"kind": "load", "pattern": "shfl", "payload": 7, "rate": 0.1, "cycles": 9}},
        {"sead": 1},
    ],
)
def test_what_the_schema_refuses_the_reader_refuses(change):
    fields = {"topology": {"sizes": "4x4"}, "traffic": {"kind": "collective", "pattern": "shfl"}, **change}
    assert not jsonschema.Draft202012Validator(schema("experiment")).is_valid(fields)
    with pytest.raises(fl.SpecError):
        build_experiment(fields)


def test_campaigns_read_as_their_schema_says():
    for file in (EXAMPLES / "campaigns").glob("*.toml"):
        assert isinstance(read_campaign(file), Campaign)
    fields = tomllib.loads((EXAMPLES / "campaigns" / "small.toml").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema("campaign"))
    assert validator.is_valid(fields)
    assert not validator.is_valid({**fields, "grid": {"mutation_rat": [0.1]}})
    assert not validator.is_valid({**fields, "grid": {"mutation_rate": [2]}})
