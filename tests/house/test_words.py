"""One word for one thing, on the command line and in Python."""

import ast
import inspect
import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command

import flitloom as fl
from flitloom.commands import VERBS, run
from flitloom.commands.assembly import RENAMED, build
from places import ROOT

#: Words that mean the same as another one, which is used everywhere.
OTHERS = {
    "--chart": "--picture",
    "--figure": "--picture",
    "--image": "--picture",
    "--output": "--out",
    "--processes": "--threads",
    "--shape": "--torus",
    "--time": "--seconds",
    "--workers": "--threads",
}
#: Where such a name means something else: the grid of ranks that must fit on a network.
MEANT = {("place", "--shape")}


def commands():
    """Every command with its words."""
    for verb in VERBS:
        command = get_command(build([verb])).commands[verb]
        for name, part in getattr(command, "commands", {"": command}).items():
            yield f"{verb} {name}".strip(), part


COMMANDS = dict(commands())


@pytest.mark.parametrize("words", COMMANDS)
def test_options_have_one_name_each(words):
    every = [name for option in COMMANDS[words].params for name in option.opts]
    assert len(every) == len(set(every)), f"{words}: an option twice"
    for option in COMMANDS[words].params:
        if option.param_type_name != "option":
            continue
        names = {name for name in option.opts if (words, name) not in MEANT}
        assert not names & set(OTHERS), f"{words}: {names} is {[OTHERS.get(name) for name in names]}"
        assert ("--out" in names) == ("-o" in names), f"{words}: -o stands for --out, everywhere"
        if ".svg" in (option.help or ""):
            # `plot` writes nothing but a picture; simulations have two kinds.
            assert names & {"--picture", "--out", "--space-time"}, f"{words}: {names}"


@pytest.mark.parametrize("words", COMMANDS)
def test_options_say_what_their_values_look_like(words):
    for option in COMMANDS[words].params:
        if option.param_type_name != "option" or option.is_flag:
            continue
        text = option.help or ""
        # A default, a number, an example, a list of names, or what kind of file.
        shown = option.show_default and option.default not in (None, (), [])
        example = re.search(r"\d|\[default|, as |\w, \w+[^.]* or \w|\.\w+[,.)]|CSV|File ", text)
        assert shown or example, f"{words} {option.opts[0]}: {text!r} shows no value"


def test_options_of_yesterday_are_understood(tmp_path, capsys):
    here = {"old": tmp_path / "old.png", "new": tmp_path / "new.png"}
    simulation = ["simulate", "--torus", "4x4", "--pattern", "trns", "--payload", "14"]
    assert run([*simulation, "--chart", str(here["old"])]) == 0
    said = capsys.readouterr().out
    assert run([*simulation, f"--picture={here['new']}"]) == 0
    assert capsys.readouterr().out == said
    assert here["old"].read_bytes() == here["new"].read_bytes()
    every = {name for command in COMMANDS.values() for option in command.params for name in option.opts}
    assert not every & RENAMED.keys()
    assert set(RENAMED.values()) <= every


def test_public_functions_say_seed_threads_and_seconds():
    wrong = {"workers_count", "n_threads", "num_threads", "timeout", "time_limit", "random_state", "rng_seed"}
    for name in fl.__all__:
        thing = getattr(fl, name)
        if callable(thing):
            try:
                names = set(inspect.signature(thing).parameters)
            except ValueError:
                continue
            assert not names & wrong, f"{name}: {names & wrong}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["route", "--torus", "4x4", "--resilience"],
        ["schedule", "--torus", "4x4", "--pattern", "shfl", "--payload", "6", "--slices", "2", "--json"],
    ],
    ids=["route", "schedule"],
)
def test_threads_bound_what_is_done_in_parallel(arguments, tmp_path):
    def threads(count):
        """Threads left when a command is over: the pool stays, what it did not start is not there."""
        program = (
            f"import os; from flitloom.commands import run; run({[*arguments, '--threads', str(count)]!r});"
            "print(len(os.listdir('/proc/self/task')))"
        )
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env=alone, capture_output=True, text=True
        )
        assert done.stderr == ""
        *shown, left = done.stdout.splitlines()
        return int(left), [line for line in shown if '"seconds"' not in line]

    if not os.path.isdir("/proc/self/task"):
        pytest.skip("threads are counted in /proc")
    one, three = threads(1), threads(3)
    assert three[0] - one[0] == 2
    assert three[1] == one[1]


#: Translated English, and what is written instead.
UNENGLISH = {
    r", as \d": "e.g.",
    r"\b(files|plans|formats?|schedules|traces|tables|programs) of others\b": "third-party",
    r"\bwho must wait\b": "injection throttle",
    r"\bcomes? out\b": "result, is reproduced",
    r"\bwhoever\b": "any node that",
    r"\bvolleys?\b|\bmails\b": "packets, messages",
    r"\bin words\b": "in prose, as text",
    r"\bis from the\b": "the source is",
    r"shortest ways|\b(shorter|longer|their|the) ways (are|take|go|may|climb|of)\b": "routes",
    r"\bwhich way\b": "which route",
    r"\bways? from\b": "route from",
    r"\bshortest routes?\b": "minimal routes",
    r"\bfree of deadlocks?\b": "deadlock-free",
    r"\bwhole (torus|tori|mesh|meshes|fabrics?)\b": "healthy",
    r"\b(both|either|other|one) senses?\b": "direction",
    r"\bheld against\b": "compared with",
    r"\b(go|goes|going|went) on\b|\btaken? up again\b": "continue",
    r"\b(get|gets|getting|got) through\b": "is delivered, is accepted",
    r"\bstands? (beside|behind|for)\b": "is beside, means",
    r"\b(is|are) asked about\b": "decides about",
    r"\bby (itself|themselves)\b": "separately, automatically",
    r"\bof (its|their) own\b": "separate",
    r"\bon the way\b": "along a route, during a run",
    r"\bbut for\b": "except",
    r"\bwhatever\b": "any, also if",
    r"\bso many\b": "a number",
    r"\bhardly\b": "little, almost no",
    r"(?<!there )\b(is|are) no (?!longer\b|more\b|other\b|test\b|throttling\b)[a-z]+\b": "is not a",
    r"\bcarr(y|ies|ied|ying)\b": "transfer, allow, have a load of",
    r"\bsaid\b": "given, told, stated",
    r"\blikewise\b": "also, in the same way",
    r"\bfullest\b": "busiest",
    r"\bours\b": "computed, those of flitloom",
    r"\bof what\b": "of the flits, of the traffic",
    r"\b(get|gets|getting|got) rid of\b": "sends, accepts",
    r"\[[^]]*\.md[^]]*\]\(": "what the page is about, as the text of a link",
    r"\bshares? nothing with\b": "independent",
    r"\b(nobody|somebody|anybody|everybody)\b": "the node, packet, tool or user",
}
#: Not looked for in docstrings, where each of these has good uses.
LOOSE = {
    UNENGLISH[phrase] for phrase in UNENGLISH if re.search(r"what\b|whatever|nobody|said|its\|their", phrase)
}
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES += [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "walks").glob("*.md"))]


def found_in(text):
    """Phrases of a text that are to be written otherwise."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [
        (match[0], instead)
        for phrase, instead in UNENGLISH.items()
        for match in re.finditer(phrase, prose, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_written_in_english(page):
    assert found_in(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("words", COMMANDS)
def test_help_is_written_in_english(words):
    command = COMMANDS[words]
    told = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
    assert [found for text in told for found in found_in(text)] == []


def texts(source):
    """All texts of a module: its docstrings; and messages, labels, help, descriptions of fields."""
    tree = ast.parse(source)
    parts = [node for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    first = [node.body[0].value for node in parts if node.body and isinstance(node.body[0], ast.Expr)]
    every = [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [node.value for node in every if node in first], [
        node.value for node in every if node not in first
    ]


def test_messages_are_written_in_english():
    wrong = [
        (file.name, found)
        for file in sorted((ROOT / "python" / "flitloom").rglob("*.py"))
        for text in texts(file.read_text(encoding="utf-8"))[1]
        for found in found_in(text)
    ]
    assert wrong == []


def test_docstrings_are_written_in_english():
    wrong = [
        (file.name, found)
        for file in sorted((ROOT / "python" / "flitloom").rglob("*.py"))
        for text in texts(file.read_text(encoding="utf-8"))[0]
        for found in found_in(text)
        if found[1] not in LOOSE
    ]
    assert wrong == []


def test_translated_phrases_are_found():
    assert found_in("Sizes, as 8x8; plans of others.") == [
        (", as 8", "e.g."),
        ("plans of others", "third-party"),
    ]
    assert found_in("Sizes, e.g. 8x8; third-party plans.\n```\n, as 8\n```\n") == []
