"""Ctrl-C at any moment: exit code 130 and one line, with nothing left behind."""

import os
import pty
import random
import re
import signal
import subprocess
import sys

import pydantic
import pytest

import flitloom as fl
from flitloom import _core
from flitloom.ground import interrupts
from places import ROOT
from waiting import LIMIT, at_work, cpu_seconds, session, stat, until

pytestmark = pytest.mark.alone("signals")

LONG = """
import signal, sys, time
from flitloom.ground import interrupts
interrupts.arm()
def ready():
    print("ready", flush=True)
"""
# What is kept on a machine that is busy with other things, too.
PATIENT = LONG.replace("interrupts.arm()", "interrupts.PATIENCE = 20\ninterrupts.arm()")

COMMANDS = [
    ["route", "--torus", "90x91", "--fail", "node:1"],
    ["route", "--torus", "8x8x8", "--resilience"],
    ["route", "--torus", "16x16", "--method", "genetic", "-o", "tables.json"],
    ["simulate", "--torus", "512x512", "--pattern", "rand", "--rate", "0.3", "--cycles", "1000000"],
    ["simulate", "--torus", "512x512", "--pattern", "rand", "--rate", "0.3", "--cycles", "1000000",
     "--threads", "2"],
    ["load", "step", "--torus", "512x512", "--pattern", "rand", "--cycles", "100000", "--threads", "2"],
    ["simulate", "--mesh", "64x64", "--pattern", "trns", "--payload", "60000", "--out", "result.nc"],
    ["stack", "--torus", "64x64", "--out", "curves.csv"],
    ["schedule", "--torus", "16x16", "--operation", "all-to-all", "--seconds", "10m"],
    ["schedule", "--torus", "5x5", "--operation", "all-to-all", "--moves", "1", "--cp-sat", "10m"],
    ["schedule", "--torus", "16x16", "--pattern", "brev", "--method", "genetic", "--generations", "9000000"],
    ["jitter", "--torus", "32x32"],
    ["campaign", "run", "long.toml", "--threads", "2"],
    ["load", "curve", "--torus", "16x16", "--pattern", "rand", "--measure", "90000000", "--out", "curve.nc"],
    ["load", "ramp", "--torus", "16x16", "--pattern", "rand"],
    ["simulate", "--torus", "512x512", "--pattern=rand", "--rate=0.3", "--cycles=9999", "--threads", "2"],
    ["sweep", "load.toml", "--grid", "traffic.rate=0.1:0.5:0.1", "-o", "rows.csv", "--threads", "2"],
    ["papers", "run", "cup-stacking-extended-2023/table-4", "--full", "--threads", "2"],
    ["papers", "run", "angara-routing-2021/figure-5", "--full", "--threads", "2"],
    ["collective", "degraded", "--torus", "8x8x8", "--store", "plans.sqlite", "--threads", "2"],
    ["bench", "--seconds", "100"],
]  # fmt: skip


def begin(arguments, folder, **options):
    """A command in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "flitloom", *arguments],
        cwd=folder,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        **options,
    )


def is_armed(process):
    """Whether the command answers Ctrl-C: its own handler is there, which Linux shows as a bit."""
    # The eighteenth fact is the number of threads; one waits for Ctrl-C.
    until(lambda: process.poll() is not None or int(stat(process.pid)[17]) > 1, "a thread waits for Ctrl-C")
    return process.poll() is None


def test_processes_of_a_session_are_found():
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        assert session(process.pid) == [process.pid]
        process.kill()
    assert session(process.pid) == []


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: " ".join(words[:5]))
@pytest.mark.parametrize("longest", [0.3, 1.2], ids=["start", "work"])
def test_ctrl_c_is_answered_with_one_line(arguments, longest, tmp_path):
    small = (ROOT / "examples" / "campaigns" / "small.toml").read_text(encoding="utf-8")
    (tmp_path / "long.toml").write_text(small.replace("generations = 60", "generations = 9000000"))
    load = (ROOT / "examples" / "load.toml").read_text(encoding="utf-8")
    (tmp_path / "load.toml").write_text(re.sub("cycles = .*", "cycles = 90000000", load))
    moment = random.Random(f"{arguments} {longest}").uniform(0, longest)
    with begin(arguments, tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert is_armed(process)
        start = cpu_seconds(process.pid)
        until(
            lambda: process.poll() is not None or cpu_seconds(*session(process.pid)) >= start + moment,
            f"{moment} s of work",
        )
        # As a terminal does, to workers too.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
    # What a long run says beforehand is no part of it.
    said = [line for line in err.splitlines() if not line.startswith(("time: ", "memory: "))]
    assert (process.returncode, len(said)) == (130, 1), (moment, err)
    assert said[0].startswith("interrupted")
    assert "Traceback" not in out
    # Sweeps that were finished are kept, too.
    kept = {"long.toml", "long.sqlite", "curves.csv", "load.toml", "rows.sqlite", "plans.sqlite"}
    kept |= {"flitloom-papers.sqlite", "angara-routing-2021-figure-5.jsonl"}
    assert {file.name for file in tmp_path.iterdir()} <= kept
    until(lambda: not session(process.pid), "all processes end")


@pytest.mark.parametrize(
    "work",
    [
        # In the interpreter, in C that keeps the interpreter's lock, and in C that does not.
        "ready()\nwhile True: pass",
        "ready()\nsum(range(10**12))",
        "ready()\nsignal.pause()",
        "ready()\n[0] * 10**8 == [0.0] * 10**8",
        "try:\n    ready()\n    while True: pass\nexcept KeyboardInterrupt:\n    pass",
        "with interrupts.keeping():\n    ready()\n    while True: pass",
    ],
)
def test_ctrl_c_ends_whatever_goes_on(work):
    with subprocess.Popen(
        [sys.executable, "-c", (PATIENT if "keeping" in work else LONG) + work],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        at_work(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=LIMIT) == (130 if "keeping" not in work else -signal.SIGINT)
        err = process.stderr.read()
    assert err == b"interrupted\n" if "keeping" not in work else b"KeyboardInterrupt" in err


def test_what_is_kept_has_its_time_and_a_second_press_ends_it():
    work = """
try:
    with interrupts.keeping():
        ready()
        while True: pass
except KeyboardInterrupt:
    interrupts.kept()
    sys.stdin.read()
    interrupts.tell("interrupted: all is kept")
    print("kept", flush=True)
    signal.pause()
"""
    with subprocess.Popen(
        [sys.executable, "-c", PATIENT + work],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        at_work(process.pid)
        process.stdin.close()
        assert process.stdout.readline() == b"kept\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=LIMIT) == 130
        assert process.stderr.read() == b"interrupted: all is kept\n"


@pytest.mark.parametrize(
    "work",
    [
        # One simulation in this process, several in workers, a checkpoint.
        """
from flitloom.load.running import run_all
def long(progress): ready(); signal.pause()
made, interrupted = run_all(long, [()])
""",
        """
from flitloom.load.running import run_all
ready()
made, interrupted = run_all(time.sleep, [(1000,), (0,)], workers=2)
""",
        """
import flitloom as fl
load = fl.Load("rand", rate=0.3, length=8, cycles=90_000_000)
simulation = fl.Simulation(fl.Network(fl.Torus(64, 64)), load)
def save(self, file): sys.stdin.read(); print("kept", flush=True)
fl.Simulation.save = save
ready()
try:
    simulation.run(checkpoint="unused", progress=print, every=1000)
except KeyboardInterrupt:
    sys.exit()
""",
    ],
    ids=["one", "workers", "checkpoint"],
)
def test_what_is_finished_has_the_time_to_be_written(work, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", PATIENT + work + "sys.stdin.read()\nprint('kept', flush=True)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        at_work(process.pid)
        process.send_signal(signal.SIGINT)
        at_work(process.pid)
        process.stdin.close()
        assert process.stdout.read().splitlines()[-1] == b"kept"
        assert process.wait(timeout=LIMIT) == 0


@pytest.mark.parametrize("variable", ["PMI_RANK", "OMPI_COMM_WORLD_RANK"])
@pytest.mark.parametrize(
    "entry", ["interrupts.arm()", "import flitloom.__main__ as entry\nentry._leave(2, None)"]
)
def test_one_rank_speaks_for_all(variable, entry):
    script = f"""
import os, signal
from flitloom.ground import interrupts
{entry}
os.kill(os.getpid(), signal.SIGINT)
"""
    for rank, told in (("0", b"interrupted\n"), ("3", b"")):
        ended = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, variable: rank},
            stderr=subprocess.PIPE,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (130, told)


def test_the_program_that_rechecks_ends_at_once():
    script = """
import runpy, signal, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
    print(signal.getsignal(signal.SIGINT) is signal.SIG_DFL)
"""
    program = ROOT / "tools" / "recheck.py"
    ended = subprocess.run([sys.executable, "-c", script, program], capture_output=True, check=True)
    assert ended.stdout == b"True\n"


def test_a_press_during_an_output_leaves_no_temporary_file(tmp_path):
    work = f"""
from flitloom.ground.outputs import replacing
with replacing({str(tmp_path / "file.txt")!r}) as out:
    out.write(b"half")
    ready()
    while True: pass
"""
    with subprocess.Popen(
        [sys.executable, "-c", LONG + work], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=LIMIT) == 130
        assert process.stderr.read() == b"interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["jitter", "--torus", "32x32"], b"interrupted"),
        (
            [
                "load",
                "step",
                "--torus",
                "64x64",
                "--pattern",
                "rand",
                "--cycles",
                "9999999",
                "--threads",
                "2",
            ],
            b"interrupted: 0 of 1 simulations are finished",
        ),
    ],
    ids=["workers", "threads"],
)
def test_the_cursor_comes_back_on_a_terminal(words, told, tmp_path):
    terminal, end = pty.openpty()
    with begin(words, tmp_path, stdout=subprocess.DEVNULL, stderr=end) as process:
        os.close(end)
        assert is_armed(process)
        # A progress bar hides the cursor when it begins.
        seen = b""
        while b"\x1b[?25l" not in seen:
            seen += os.read(terminal, 4096)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=LIMIT) == 130
        while not seen.endswith(told + b"\r\n"):
            seen += os.read(terminal, 4096)
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")
    os.close(terminal)


def test_a_process_that_is_to_ignore_ctrl_c_does():
    ignoring = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"
    script = ignoring + LONG + "ready()\nsys.stdin.read()\nprint('done')"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        # No other thread is there that would end it.
        assert stat(process.pid)[17] == "1"
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        assert process.stdout.read() == b"done\n"
    assert process.returncode == 0


def test_what_a_library_makes_of_ctrl_c_is_one():
    class Asked(pydantic.BaseModel):
        @pydantic.model_serializer
        def written(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), interrupts.keeping():
        Asked().model_dump()


def test_in_a_library_nothing_is_armed():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not interrupts.pressed()
    assert callable(_core.first_to_tell)


def test_ctrl_c_is_answered_before_anything_is_imported():
    script = """
import os, signal, sys, types
before = set(sys.modules) - {"signal", "enum"}
import flitloom.__main__
print(sorted({"enum", "typing", "re", "flitloom.commands"} & (set(sys.modules) - before - {"enum", "re"})))
# What the entry imports next is interrupted.
late = types.ModuleType("flitloom.commands")
late.main = lambda: os.kill(os.getpid(), signal.SIGINT)
sys.modules["flitloom.commands"] = flitloom.commands = late
sys.stdout.flush()
flitloom.__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "[]\n", "interrupted\n")


def test_the_set_up_of_tables_tells_how_far_it_is_and_can_be_ended():
    told = []

    def enough(done):
        told.append(done)
        raise LookupError

    # Without an answer this takes many seconds before the first route is chosen.
    with pytest.raises(LookupError):
        fl.tables.make(fl.Torus(48, 48), failed_nodes=[5, 77], progress=enough)
    assert len(told) == 1
    assert 0 <= told[0] < 0.8
    tables = fl.tables.make(fl.Torus(32, 32), method="dor", exact_bound=False)
    with pytest.raises(LookupError):
        fl.tables.check(tables, rules="dimension-order", progress=lambda done, total: enough(done / total))
    assert len(told) == 2
