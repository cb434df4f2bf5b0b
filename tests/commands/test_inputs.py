"""Inputs of verbs are one closed list with a file each; options stand in one place; verbs are short."""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.main import get_command

import flitloom as fl
from flitloom.commands import VERBS, assembly, inputs, run
from flitloom.commands.completion import LISTED
from flitloom.commands.inputs import known
from flitloom.commands.options import Group, grouped
from flitloom.networks.experiment import Experiment
from flitloom.spec import Collective, Load, Messages, Packets, Router, Topology, TrafficMatrix
from flitloom.spec.words import FIELDS, OPTIONS, Option, flags

PACKAGE = Path(fl.__file__).parent
MODELS = {
    "topology": [Topology],
    "traffic": [Collective, Load, Packets, TrafficMatrix, Messages],
    "router": [Router],
    "run": [Experiment],
}
#: Options that fill no single field.
BESIDES = {"preset", "settings"}


def modules():
    """Names of the modules of inputs."""
    return {
        file.stem
        for file in (PACKAGE / "commands" / "inputs").glob("*.py")
        if re.search(r"^INPUT = ", file.read_text(encoding="utf-8"), re.MULTILINE)
    }


def test_every_input_is_in_the_list():
    assert modules() == set(known.INPUTS)
    for name in known.INPUTS:
        assert isinstance(known.load(name), inputs.Input)
    for verb, default in known.DEFAULTS.items():
        assert verb in known.load(default).uses


def test_a_new_input_is_one_file_and_one_line(monkeypatch, tmp_path, capsys):
    seen = []
    letters = ModuleType("flitloom.commands.inputs.letters")
    letters.INPUT = inputs.Input(
        title="a letter",
        given="give one that ends in .letter",
        sniff=lambda file: file.read_text() == "dear flitloom",
        uses={"simulate": inputs.Use(seen.append, inputs.names_of("buffer", "json"))},
    )
    monkeypatch.setitem(sys.modules, "flitloom.commands.inputs.letters", letters)
    monkeypatch.setitem(known.INPUTS, "letters", known.Entry((".letter",)))
    file = tmp_path / "a.letter"
    file.write_text("dear flitloom")
    assert run(["simulate", str(file), "--buffer", "8"]) == 0
    assert (seen[0].file, seen[0].router.buffer) == (file, 8)
    assert run(["simulate", str(file), "--pattern", "shfl"]) == 2
    assert capsys.readouterr().err == "error: --pattern: does not go with a letter; leave it out\n"
    file.write_text("something else")
    assert run(["simulate", str(file)]) == 2
    assert len(seen) == 1


def test_a_new_option_is_one_entry(monkeypatch, capsys):
    entry = Option(int, "Colour of the routers, a number.", "3", "COLOUR")
    monkeypatch.setitem(FIELDS, "router", {**FIELDS["router"], "colour": entry})
    monkeypatch.setitem(OPTIONS, "colour", entry)

    class Routers(Group, part="router"):
        """The router at every node."""

    seen = []

    @grouped
    def command(*, routers: Routers) -> None:
        """Paint."""
        seen.append(routers.given())

    app = typer.Typer(rich_markup_mode=None)
    app.command()(command)
    app(["--colour", "5", "--buffer", "8"], standalone_mode=False)
    assert seen == [{"buffer": 8, "colour": 5}]
    app(["--help"], standalone_mode=False)
    assert "--colour COLOUR" in (out := capsys.readouterr().out)
    assert "Colour of the routers, a number. [default: 3]" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--flits", "8"],
            "--flits: belongs to a plan of a collective operation or a plan in rounds of a collective "
            "operation or a plan in a third-party format; give one that ends in .json",
        ),
        (["--jitter", "4"], "--jitter: belongs to a plan; name one with --plan"),
        (["--calc-cycles", "4"], "--calc-cycles: belongs to a message graph; give one that ends in .goal"),
        (["--flit-bytes", "4"], "--flit-bytes: belongs to a message graph or a placement"),
    ],
)
def test_options_of_other_inputs_say_whose_they_are(arguments, message, capsys):
    assert run(["simulate", "--torus", "4x4", "--pattern", "shfl", *arguments]) == 2
    assert f"error: {message}" in capsys.readouterr().err


def test_a_plan_and_a_simulation_are_known_by_their_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    network = fl.Network(fl.Torus(4, 4))
    plan = fl.plans.search(network, fl.Collective("shfl"))
    plan.save("plan.json")
    assert run(["simulate", "plan.json"]) == 0
    assert re.search(rf"^duration +{plan.duration} cycles$", capsys.readouterr().out, re.MULTILINE)
    fl.Simulation(network, fl.Collective("shfl")).save("begun.flit")
    assert run(["simulate", "begun.flit"]) == 0
    assert "packets_delivered    16" in capsys.readouterr().out


@pytest.mark.parametrize("part", FIELDS)
def test_options_say_what_their_fields_are(part):
    for name, option in FIELDS[part].items():
        if name in BESIDES:
            continue
        fields = [
            model.model_fields[option.field or name]
            for model in MODELS[part]
            if (option.field or name) in model.model_fields
        ]
        assert fields, name
        if option.default and re.fullmatch(r"\w+", option.default):
            defaults = {str(field.default) for field in fields if not field.is_required()}
            assert option.default in defaults, name


def test_an_option_stands_in_one_place():
    words = {flag: name for name in OPTIONS for flag in flags(name)}
    assert len(words) == len(OPTIONS)
    for name, option in OPTIONS.items():
        if option.among:
            assert LISTED[flags(name)[0]] == option.among
    for file in (PACKAGE / "commands").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not [name for name, option in OPTIONS.items() if f'"{option.help}"' in text], file


#: Options that are written as those of a field and are something else, or lists of their own.
OTHER_THINGS = {
    "load impulse": {"--cycles", "--packets", "--pattern", "--rate"},
    "load ramp": {"--cycles"},
    "load step": {"--cycles", "--rate"},
    "load steady": {"--rate"},
    "load bound": {"--routing"},
    "schedule": {"--interval"},
    "stack": {"--arbitration", "--pattern", "--slices"},
    "place": {"--routing"},
    "view": {"--stop-at"},
    "validate booksim": {"--seed"},
    "validate load": {"--seed"},
    # Steps and chunks of a plan, not cycles and packets.
    "collective": {"--latency", "--matrix"},
}


def options_of(name, command):
    """Verbs with their options and what help says of them."""
    if hasattr(command, "commands"):
        for inner, part in command.commands.items():
            yield from options_of(f"{name} {inner}", part)
        return
    for one in command.params:
        if one.param_type_name == "option":
            yield name, max(one.opts, key=len), one.help or ""


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_of_a_field_says_the_same_in_every_verb(verb):
    fields = {flags(name)[0]: option for name, option in OPTIONS.items()}
    command = get_command(assembly.build([verb])).commands[verb]
    other = []
    for name, flag, text in options_of(verb, command):
        known = {*OTHER_THINGS.get(name, ()), *OTHER_THINGS.get(verb, ())}
        if flag in fields and flag not in known and not text.startswith(fields[flag].help.removesuffix(".")):
            other.append(f"{name} {flag}: {text}")
    assert not other


def functions():
    """Functions of verbs and inputs with their lines."""
    for file in sorted((PACKAGE / "commands").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                name = f"{file.relative_to(PACKAGE).as_posix()}:{node.name}"
                yield name, (node.end_lineno or 0) - node.lineno + 1


def test_no_function_of_a_verb_is_long():
    assert {name: lines for name, lines in functions() if lines > 60} == {}
