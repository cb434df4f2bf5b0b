"""Numbers that are none, names that are none, and options that would be ignored: one message each."""

import json
import os
import pickle
import re
from pathlib import Path

import pytest
from typer.main import get_command

import flitloom as fl
from flitloom.commands import VERBS, run
from flitloom.commands.assembly import build
from flitloom.fabric import parse_fabric
from flitloom.jobs import Store
from flitloom.plans.values import packets_of_core
from places import ROOT
from sample import QUICK, sampled

RING = "".join(
    f'Switch 8 "S-{a + 1:016x}"\t# "s{a}" enhanced port 0 lid {a + 1} lmc 0\n'
    f'[1] "S-{(a + 1) % 3 + 1:016x}"[2] # "s{(a + 1) % 3}" lid {(a + 1) % 3 + 1} 4xQDR\n\n'
    for a in range(3)
)
DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RING.replace("lid 2", "lid 010"), None),
        (
            RING.replace("lid 2", f"lid {DIGITS[:999]}"),
            "'s1': LID 999999999999999999 is out of range; it is 0 to 49151",
        ),
        (RING.replace("lid 2", "lid 0x10000"), "'s1': LID 65536 is out of range"),
        (RING.replace("lmc 0", "lmc 64"), "'s0': LMC 64 is out of range; it is 0 to 7"),
        (RING.replace("[1]", f"[{DIGITS[:999]}]"), "port 999999999999999999; ports are 1 to 254"),
        (
            "router 0 router 1\nrouter 1 router \u00b2\n",
            "line 2: 'router \u00b2' is not a 'router N' or 'node N'",
        ),
        (f"router 0 router {DIGITS}\n", "line 1: 'router 9999999"),
        ("a,b\nb,c\rc,d\n", None),
        ('a,b\n"b\0,' + "c" * 200_000 + '"\n', "line 2: no valid CSV: field larger than field limit"),
        (f"a,{'b' * 300}\n", "has 300 characters; at most 256 are supported"),
        ('{"a": 1, "b": 2}\n', "no fabric in it"),
        ("<list>a,b</list>\n", "no fabric in it"),
        ("a\u00b2,b\nb,c\n", None),
    ],
)
def test_what_a_fabric_can_say(text, message):
    if message is None:
        assert len(parse_fabric(text, "file").switches) >= 1
    else:
        with pytest.raises(fl.SpecError, match=re.escape(message)):
            parse_fabric(text, "file")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl")).save("plan.json")
    fl.collectives.plan(fl.Torus(4, 4), "all-gather").save("gather.json")
    (tmp_path / "trace.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 5\n}\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"simulate --torus 4x4 --pattern shfl --fail node:{DIGITS}", "is not a failed part; write node:3"),
        (f"route --torus 4x4 --fail node:{DIGITS}", "is not a failed part"),
        (
            f"stack --torus 4x4 --pattern shfl --slices 2 --intervals {DIGITS}:9",
            "write first and last interval",
        ),
        ("simulate --plan plan.json --set topology=3", "topology: 3 is"),
        ("simulate --plan plan.json --set router=3", "router: 3 is"),
        ("simulate --plan plan.json --set router.cls=3", "router.cls: unknown field"),
        ("simulate --plan plan.json --set foo=3", "foo: unknown field"),
        (f"simulate --plan plan.json --jitter 2 --set seed={DIGITS}", "seed: '9999"),
        ("simulate --plan plan.json --jitter 2 --stop-at 5", "stop_at: belongs to one simulation"),
        ("simulate --plan plan.json --throttle pt", "throttle: a plan says when every packet starts"),
        ("simulate --plan plan.json --threads 2", "--threads: belongs to simulations"),
        ("simulate --plan plan.json --checkpoint x.flit", "--checkpoint, --resume: belong to simulations"),
        ("simulate gather.json --set topology=3", "topology: 3 is not a table of fields"),
        ("simulate gather.json --set router=nan", "router: nan is not a table of fields"),
        (
            "simulate gather.json --stop-at 5",
            "--stop-at: a plan of a collective operation brings its own traffic",
        ),
        ("simulate gather.json --threads 2", "--threads: belongs to simulations"),
        ("simulate gather.json --checkpoint x.flit", "--checkpoint: does not go with a plan"),
        ("simulate trace.goal --torus 4x4 --set router=true", "router: True is not a table of fields"),
        ("simulate trace.goal --torus 4x4 --rate 0.3", "--rate: a message graph brings its own traffic"),
        ("simulate trace.goal --torus 4x4 --plan plan.json", "--plan: does not go with a message graph"),
    ],
)
def test_what_options_can_say(command, message, capsys):
    assert run(command.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
    assert len(error) < 700


def test_what_is_no_file_is_no_store(tmp_path, monkeypatch, capsys):
    for read_only in (True, False):
        with pytest.raises(fl.SpecError, match="/dev/null: is not a file that could be a store"):
            Store("/dev/null", read_only=read_only)
    # SQLite would take the name for that of its memory, and lose what was found.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(
        'patterns = ["next"]\n[topology]\nsizes = "2x2"\n[genetic]\ngenerations = 1\ntraining = 0\n'
    )
    assert run(["campaign", "run", "one.toml", "--store", ":memory:", "--threads", "1"]) == 0
    capsys.readouterr()
    assert run(["campaign", "status", "one.toml", "--store", ":memory:", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["finished"] == 1


@pytest.mark.parametrize("number", ["1e400", "NaN", "-1", "[]", "99999"])
def test_a_proof_of_no_nodes_is_none(number, tmp_path, capsys):
    fl.collectives.plan(fl.Torus(2, 2), "scatter").save(tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    proof = json.dumps({"kind": "distance", "from": 0, "to": 3}).replace("3", number)
    (tmp_path / "plan.json").write_text(re.sub(r'"proof": \{[^}]*\}', f'"proof": {proof}', text))
    assert run(["check", str(tmp_path / "plan.json")]) == 1
    assert "  plan.proof: is not a complete distance proof for scatter\n" in capsys.readouterr().out


def test_packets_of_the_core_are_those_of_the_file(tmp_path):
    plan = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("trns", payload=14, slices=2))
    plan.save(tmp_path / "plan.json")
    read = fl.plans.read(tmp_path / "plan.json")
    assert plan.packets == read.packets
    assert (plan.table == read.table).all()
    assert (plan.optimal, plan.bound) == (read.optimal, read.bound)
    (packet,) = packets_of_core(plan.table[:1], [bytes([1])])
    # Whole models: copied, compared, shown and unchangeable as others are.
    assert packet.model_copy(update={"channel": 2}).channel == 2
    assert packet.model_dump()["route"] == "-x1"
    with pytest.raises(fl.SpecError, match="is immutable"):
        packet.start = 3


def test_what_is_made_is_not_changed_in_place():
    """By one message of ours, whatever is set or deleted and wherever."""
    network = fl.Network(fl.Torus(4, 4))
    made = [
        (fl.Torus(4, 4), "sizes"),
        (fl.Router(), "buffer"),
        (fl.Load("rand", rate=0.1, cycles=9), "rate"),
        (fl.Collective("shfl"), "slices"),
        (fl.Experiment(topology=fl.Torus(4, 4), traffic=fl.Collective("shfl")), "seed"),
        (fl.RouterRules.named("angara", 2), "order"),
        (fl.plans.search(network, fl.Collective("shfl")), "duration"),
        (fl.collectives.plan(fl.Torus(4, 4), "all-gather"), "chunks"),
    ]
    for part, field in made:
        before = repr(part)
        for name in (field, "nothing"):
            kind = type(part).__name__
            for change in (lambda part, name: setattr(part, name, 3), delattr):
                with pytest.raises(fl.SpecError) as error:
                    change(part, name)
                assert re.match(f"{kind}.{name}: an? {kind} is immutable; create a new one", str(error.value))
        assert repr(part) == before
        assert pickle.loads(pickle.dumps(part)) is not part
        assert part.model_copy() is not part


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("demo --threads 0", "threads: 0 is out of range; it must be 1 to 4096"),
        ("demo --threads 4294967296", "threads: 4294967296 is out of range"),
        ("campaign run FILE --threads 4294967296", "'--threads': Input should be less than or equal to 4096"),
    ],
)
def test_threads_out_of_range_leave_nothing(command, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = ROOT / "examples" / "campaigns" / "small.toml"
    assert run(command.replace("FILE", str(file)).split()) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_damaged_results_are_refused_in_one_message(tmp_path, capfd):
    result = fl.simulate(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl"))
    result.to_netcdf(tmp_path / "good.nc")
    content = (tmp_path / "good.nc").read_bytes()
    os.mkfifo(tmp_path / "pipe.nc")
    for number, damaged in enumerate([b"", content[:100], content[: len(content) // 2], b"x" * 5000]):
        (tmp_path / f"{number}.nc").write_bytes(damaged)
    for name in ("0.nc", "1.nc", "2.nc", "3.nc", "pipe.nc"):
        assert run(["view", str(tmp_path / name), "-o", str(tmp_path / "page.html")]) == 2
        assert capfd.readouterr().err.endswith(
            f"{name}: is not a result of flitloom simulate --out, or damaged\n"
        )
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("sizes", ["nan", "1e400", "-1", DIGITS, "\uff11\uff12", "4294967296", "1_000", ""])
def test_sizes_of_a_fabric_that_are_none(sizes, tmp_path, capsys):
    (tmp_path / "ring.topo").write_text(RING)
    for command in (["fabric", "show", "FILE"], ["route", "--fabric", "FILE", "-o", str(tmp_path / "out")]):
        words = [str(tmp_path / "ring.topo") if word == "FILE" else word for word in command]
        assert run([*words, f"--sizes={sizes}"]) == 2
        error = capsys.readouterr().err
        assert "is not a size; write sizes like 16x16 or 4x2x2x2" in error
        # A note before it names the file, whose folder is as long as it is.
        assert len(error.splitlines()[-1]) < 200
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("nodes", [DIGITS, "0-" + DIGITS, "0," * 3000])
def test_long_lists_of_nodes_are_not_repeated(nodes, capsys):
    for command in ("collective all-gather --torus 4x4", "schedule --torus 4x4 --operation all-gather"):
        assert run([*command.split(), f"--nodes={nodes}"]) == 2
        assert len(capsys.readouterr().err) < 300


def numeric_options():
    """The words of every command, and its options that are numbers."""
    for verb in VERBS:
        command = get_command(build([verb])).commands[verb]
        for name, part in getattr(command, "commands", {"": command}).items():
            for option in part.params:
                if option.param_type_name == "option" and option.type_descriptor.annotation in (int, float):
                    yield f"{verb} {name} {option.opts[0]}"


@pytest.mark.parametrize("words", list(numeric_options()))
def test_numbers_are_written_in_one_way(words, capsys):
    option = words.split()[-1]
    texts = ("1_000", " 5", "5 ", "\uff15", "\u0663", "nan", "infinity", "1e9999", "0x10")
    # Each of them with some of the options.
    for text in sampled(texts[len(words) % 3 :] if QUICK else texts, 3):
        assert run([*words.split()[:-1], f"{option}={text}"]) == 2, text
        assert option in capsys.readouterr().err.replace("--graph", "--fabric")


@pytest.mark.parametrize("text", ["1_0", "\uff11", "0_1:2:1", "1:2_0:1"])
def test_numbers_in_lists_and_times_are_written_in_the_same_way(text, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for command in (
        ["sweep", "x.toml", "-o", "x.csv", "--grid", f"traffic.length={text}"],
        ["load", "curve", "--torus", "4x4", "--pattern", "rand", "--measure", "9", "--rates", f"0.1,{text}"],
        ["schedule", "--torus", "4x4", "--pattern", "shfl", "--seconds", f"{text}s"],
        ["schedule", "--torus", "4x4", "--pattern", "shfl", "--method", f"joint:{text}"],
    ):
        Path("x.toml").write_text('[topology]\nsizes = "4x4"\n[traffic]\nrate = 0.1\ncycles = 9\n')
        assert run(command) == 2, command
        assert capsys.readouterr().err.count("\n") <= 2
    for variable in ("FLITLOOM_THREADS", "FLITLOOM_MEMORY_FROM", "FLITLOOM_PROGRESS_AFTER"):
        monkeypatch.setenv(variable, text)
        assert run(["config", "show"]) == 2
        assert variable in capsys.readouterr().err
        monkeypatch.delenv(variable)


@pytest.mark.parametrize("number", ["0", "-1", "1000001", "4294967296", "1" + "0" * 30])
def test_efforts_that_are_none(number, tmp_path, capsys):
    (tmp_path / "ring.csv").write_text("".join(f"s{n},s{(n + 1) % 5}\n" for n in range(5)))
    for network in (["--fabric", str(tmp_path / "ring.csv")], ["--torus", "4x4"]):
        assert run(["route", *network, f"--effort={number}"]) == 2
        # What the file was taken for is a note.
        [error] = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
        assert "effort" in error
        assert "1 to 1000000" in error
