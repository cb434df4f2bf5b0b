"""Whatever an option is given, a command ends well or with one short message and exit code 2."""

import pytest
from typer.main import get_command

from flitloom.commands import VERBS
from flitloom.commands.assembly import build
from limited import run_limited

#: What a command needs besides the option, so that it does little.
BASE = {
    "simulate": ["--torus", "4x4", "--pattern", "shfl"],
    "stack": ["--torus", "4x4", "--pattern", "shfl"],
    "schedule": ["--torus", "4x4", "--pattern", "shfl"],
    "jitter": ["--torus", "4x4", "--patterns", "shfl", "--jitter", "1", "--guards", "1", "--trials", "1"],
    "route": ["--torus", "4x4"],
    "check": ["none.json"],
    "campaign run": ["none.toml"],
    "campaign status": ["none.toml"],
    "campaign best": ["none.toml"],
    "campaign export": ["none.toml", "--out", "none.csv"],
    "papers run": ["cup-stacking-2022/table-2", "--column", "none"],
    "bench": ["none"],
    "validate load": ["--cases", "0"],
    "demo": ["--threads", "0"],
}
NUMBERS = ["-1", "0", "4294967296", str(10**20), "1e20"]
TEXTS = ["", "x" * 70_000, "9" * 5000, "\N{SNOWMAN}\n\x1b[31m"]
#: Options together with others that they belong to.
TOGETHER = [
    ["simulate", "--torus", "4x4", "--pattern", "rand", "--rate", "1e-9", "--cycles", "10"],
    ["simulate", "--torus", "4x4", "--pattern", "shfl", "--set", "topology.sizes=0x" + "f" * 4000],
    ["simulate", "--torus", "4x4", "--pattern", "shfl", "--set", "a." * 5000 + "b=1"],
    ["simulate", "--torus", "4x4", "--pattern", "shfl", "--set", "router.buffer=" + "[" * 5000],
    ["simulate", "--torus", "1024x1024", "--pattern", "shfl", "--buffer", "1024", "--channels", "8"],
    ["simulate", "--torus", "8x8x16x16x8x8", "--pattern", "torn", "--channels", "8"],
    ["simulate", "--torus", "8x8", "--pattern", "shfl", "--packets", "268435456"],
    ["simulate", "--torus", "8x8", "--pattern", "shfl", "--picture", "c.png", "--packets", "1000000"],
    ["schedule", "--torus", "8x8", "--pattern", "shfl", "--packets", "20000"],
    ["schedule", "--torus", "8x8", "--pattern", "shfl", "--packets", "20000", "--method", "greedy"],
    ["schedule", "--torus", "4x4", "--pattern", "shfl", "--payload", "1000000", "--slices", "1000000"],
    ["schedule", "--torus", "4x4", "--pattern", "shfl", "--moves", "0"],
    ["schedule", "--torus", "4x4", "--pattern", "shfl", "--method", "genetic", "--generations", "-5"],
    ["schedule", "--torus", "64x64", "--operation", "all-to-all"],
    ["schedule", "--torus", "4x4", "--pattern", "shfl", "--guard", "auto", "--jitter", str(2**40)],
    ["stack", "--torus", "4x4", "--pattern", "shfl", "--intervals", "1:999999999"],
    ["jitter", "--torus", "4x4", "--patterns", "shfl", "--trials", str(10**20)],
    ["jitter", "--torus", "4x4", "--patterns", "shfl", "--moves", "0", "--trials", "1", "--jitter", "0"],
    ["load", "curve", "--torus", "4x4", "--pattern", "rand", "--rates", "0.1", "--warm-up", str(2**70)],
    ["load", "curve", "--torus", "4x4", "--pattern", "rand", "--rates", "0:1e999999:1e-999999"],
    ["route", "--torus", "64x64x2", "--method", "dor", "-o", "t.json"],
    ["route", "--torus", "4x4", "--resilience", "--sample", str(10**20)],
]


def options(command):
    return [
        option for option in command.params if option.param_type_name != "argument" and not option.is_flag
    ]


def runs():
    """Command lines with one strange value each."""
    for verb in VERBS:
        command = get_command(build([verb])).commands[verb]
        parts = getattr(command, "commands", {"": command})
        for name, part in parts.items():
            words = [verb, name] if name else [verb]
            for option in options(part):
                kind = option.type_descriptor.annotation
                for value in NUMBERS if kind in (int, float) else TEXTS:
                    yield [*words, *BASE.get(" ".join(words), []), f"{option.opts[0]}={value}"]
    yield from TOGETHER


@pytest.mark.long
def test_every_option_with_strange_values(tmp_path):
    lines = list(runs())
    assert len(lines) > 300
    wrong = []
    for line, end in zip(lines, run_limited(lines, tmp_path, memory=3 << 30, seconds=10), strict=True):
        if end.code not in (0, 1, 2) or len(end.err) > 3000 or (end.code == 2 and end.out):
            wrong.append(f"{[word[:40] for word in line]}: {end.code} {end.err[:200]}")
    assert not wrong, "\n".join(wrong)
    left = [file.name for file in tmp_path.iterdir()]
    assert not [name for name in left if name.startswith(".")]
