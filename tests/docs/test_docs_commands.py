"""Every command of README and docs runs, page by page in a folder of its own; long ones are parsed.

Blocks of pages that say what they print run in ``test_walks.py``.

``FLITLOOM_DOCS=all pytest tests/docs/test_docs_commands.py`` (``make docs-commands``) runs the long ones too.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from flitloom.commands import VERBS
from flitloom.commands.assembly import build
from places import COMPARED, ROOT

#: The commands of the gallery run when the site is built (tests/docs/test_site.py).
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "gallery.md"),
]
ALL = os.environ.get("FLITLOOM_DOCS") == "all"

#: What some commands run with here instead; the rest of the line stays.
REDUCED = {
    "--cases 200": "--cases 2",
    "--sample 500": "--sample 3",
    "--sample 2016": "--sample 3",
    "--trials 100": "--trials 2",
    "--lead N": "--lead 2",
    "--guard auto --jitter 8": "--guard auto --jitter 8 --moves 20000",
    "--torus SIZES": "--torus 4x4",
    "--torus 1024x1024 --pattern rand": "--torus 32x32 --pattern rand",
    "collective NAME": "collective all-gather",
    "simulate plan.goal --torus 4x4": "simulate plan.goal --torus 8x8x8",
    "--torus 16x16 --pattern brev --guard auto": "--torus 8x8 --pattern brev --guard auto",
    "--pattern NAME": "--pattern brot",
    "[--routes any-order|minimal]": "--routes any-order --moves 20000",
    "--operation NAME [--nodes LIST] [--as-one]": "--operation all-gather --nodes 0-7 --as-one",
    "--seconds 8": "--seconds 0.2",
    "--method genetic": "--method genetic --generations 20",
    "jitter --torus 16x16": "jitter --torus 4x4 --patterns shfl --trials 2 --moves 2000",
    "advise --torus 8x8x8": "advise --torus 4x4x4",
    "--rates 0.2:0.6:0.2 --routing do,sa,cl": "--rates 0.2:0.4:0.2 --routing do,cl",
    "collective degraded --torus 8x8": "collective degraded --torus 4x4",
    "--mesh 8x8 --pattern rand --set": "--mesh 4x4 --pattern rand --within 0.1 --set",
    "--ties wrap --full-start": "--ties wrap --full-start --within 0.1",
    "8x8 --pattern rand --rates 0.1:0.6:0.1 --picture": "4x4 --pattern rand --rates 0.1:0.4:0.3 --picture",
    "8x8,16x16 --pattern rand --rates 0.1:0.5:0.1": "4x4,8x8 --pattern rand --rates 0.1:0.5:0.2",
    'x ring4" --pattern rand': 'x ring4" --pattern rand --within 0.1',
    "--torus 64x64 --pattern rand": "--torus 16x16 --pattern rand",
    "8x8 --pattern rand --outstanding": "4x4 --pattern rand --outstanding",
    "--outstanding 4 --rates 0.1:0.6:0.1": "--outstanding 4 --rates 0.1,0.6",
    "8x8 --pattern rand --routing do,ma": "4x4 --pattern rand --routing do,ma",
    "--buffer 8,16 --within 0.05": "--buffer 8,16 --within 0.2",
    "--within 0.03 --measure 2000": "--within 0.2 --measure 300",
    "--rates 0.1:0.9 --cycles 100000": "--rates 0.1:0.9 --cycles 10000",
    "step --torus 16x16,32x32": "step --torus 4x4,8x8",
    "--warm-up 4000 --measure 4000": "--warm-up 400 --measure 400",
    "--torus 8x8x8 --axes a=8:a2a:2,b=64:ring:8": "--torus 4x4x4 --axes a=8:a2a:2,b=8:ring:8",
    "--torus 2x8 --traffic plan.json": "--torus 2x8 --traffic plan.json --effort 2",
    "--preset cup-stacking --torus 16x16": "--preset cup-stacking --torus 8x8",
    '2)" --pattern rand --rates 0.1:0.4:0.1': '2)" --pattern rand --rates 0.1,0.4',
    'ring8" --pattern rand --rates 0.2:0.6:0.2': 'ring8" --pattern rand --rates 0.2,0.6',
    "traffic.rate=0.02:0.2:0.02": "traffic.rate=0.02,0.2",
    "burst --preset t15 --torus 32x32": "burst --preset t15 --torus 8x8",
    "--torus 4x4x8 --twist": "--torus 2x2x4 --twist",
    "--moves 400000": "--moves 4000",
}
#: Commands that are only parsed, by how they begin, and why.
PARSED = {
    "flitloom bench": "measures for minutes",
    "flitloom validate booksim": "needs BookSim2; tests/booksim/test_booksim.py runs it with a stand-in",
    "flitloom validate doors": "takes a minute; tests/network/test_doors.py does the same",
    "flitloom demo": "draws for half a minute",
    "flitloom papers run": "takes seconds to hours; tests/papers/test_papers.py runs them reduced",
    "flitloom view --live": "needs make wasm; tests/view/test_live_page.py runs it",
    "flitloom load curve --preset": "measures for a minute; tests/load runs smaller ones",
    "flitloom validate load --known": "takes long; tests/load/test_utilisation.py compares one",
    "flitloom load ramp --preset": "takes half a minute; tests/load/test_load.py runs a part",
    "flitloom load step --preset": "takes half an hour; tests/load/test_load.py runs smaller ones",
    "flitloom schedule --torus 32x32 --pattern brot --payload 7 --seconds 20": "proves for minutes",
    "flitloom campaign run": "searches for half a minute; tests/genetic runs a smaller campaign",
}
#: Programs of commands that are run: ours, and what every shell has.
RUN = {"flitloom", "echo", "printf"}
#: Third-party programs, which a fresh machine may lack, and why they are not run here.
OTHERS = {
    "ibnetdiscover": "asks a real fabric",
    "opensm": "takes a real fabric over; tests/fabric/test_opensm.py loads tables into it on a simulated one",
    "smpquery": "asks a real fabric",
    "saquery": "asks a real fabric; tests/fabric/test_opensm.py asks a simulated one",
    "make": "builds and tests everything",
    "pip": "installs packages",
}
#: Commands whose options are named without the network they need.
INCOMPLETE = re.compile(
    r"flitloom( [a-z-]+){0,2}|flitloom schedule (--method greedy|--separate)|flitloom papers run NAME"
)
#: Files of somebody's own that pages speak of.
OWN = (
    "cluster.topo",
    "now.topo",
    "ports.txt",
    "dump.lft",
    "packets.csv",
    "foreign.xml",
    "trace.goal",
    "trace.0.et",
    "campaigns/",
    "long.flit",
)

#: Files that pages take for granted, and how they are made.
MADE = {
    "plan.json": "flitloom schedule --torus 4x4 --pattern shfl -o plan.json",
    "tables.json": "flitloom route --torus 4x4 -o tables.json",
    "result.nc": "flitloom simulate --torus 4x4 --pattern shfl --out result.nc",
}
#: Exit codes of commands that show what goes wrong.
CODES = {
    "flitloom check ring.json --rules unrestricted": 1,
    "flitloom route --mesh 4 --fail link:1-2": 2,
    'flitloom check --network "dragonfly(4,2)" --fail node:g0s1 first --mix second': 1,
    "flitloom simulate --torus 8 --pattern rand --channels 1 --rate 0.9 --cycles 2000 --length 8": 2,
}


def commands(page, *, blocks=True):
    """The commands of a page in their order, of its text and, unless told otherwise, of its ``sh`` blocks."""
    text = page.read_text(encoding="utf-8")
    for block in re.finditer(r"^```sh\n(.*?)^```|`(flitloom\s[^`]+)`", text, re.MULTILINE | re.DOTALL):
        if block[2]:
            yield " ".join(block[2].split())
            continue
        for line in block[1].replace("\\\n", " ").splitlines() if blocks else ():
            command = " ".join(re.sub(r"\s#.*", "", line).split())
            if command and not command.startswith("#"):
                yield command


def started(command):
    """The programs that a line of the shell starts, but for settings of the environment before them."""
    # Brackets of a synopsis are not the shell's.
    split = shlex.shlex(re.sub(r"\[[^]]*\]", "", command), punctuation_chars=True)
    split.whitespace_split = True
    begins = True
    for word in split:
        if set(word) <= set("|&;()"):
            begins = True
        elif begins and not re.match(r"\w+=", word):
            begins = False
            yield word


def why_parsed(command):
    """Why a command is not run here, if it is not."""
    for program in started(command):
        if program in OTHERS:
            return OTHERS[program]
        assert program in RUN, f"{command}: {program} is neither a program that is run here nor one of others"
    if INCOMPLETE.fullmatch(command):
        return "names options only"
    if any(name in command for name in OWN) or command.endswith("> cluster.topo"):
        return "needs somebody's own files, or what a long command made"
    return next((why for start, why in PARSED.items() if f"{command} ".startswith(start)), None)


def parse(command):
    """Check that the verb and all options of a command exist."""
    words = shlex.split(command.replace("[", " ").replace("]", " "))
    if words[0] != "flitloom" or len(words) == 1:
        return
    found = get_command(build([words[1]])).commands[words[1]]
    if hasattr(found, "commands") and len(words) > 2:
        found = found.commands.get(words[2], found)
    known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)}
    unknown = [word for word in words if word.startswith("-") and word.partition("=")[0] not in known]
    assert not unknown, f"{command}: {unknown}"


def reduced(command):
    for words, fewer in () if ALL else REDUCED.items():
        command = command.replace(words, fewer)
    return command


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page(page, tmp_path, programs):
    for name in ("examples", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    environment = {**os.environ, "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = set()
    for command in commands(page, blocks=page not in COMPARED):
        if command in done:
            continue
        done.add(command)
        if command.startswith("flitloom "):
            assert command.split()[1] in (*VERBS, "--version", "--install-completion"), command
        if why_parsed(command) and not (ALL and command.startswith(("flitloom papers", "flitloom campaign"))):
            parse(command)
            continue
        for name, maker in MADE.items():
            written = any(f"{option} {name}" in command for option in ("-o", "--out"))
            if name in command and not written and not (tmp_path / name).exists():
                subprocess.run(
                    maker, shell=True, cwd=tmp_path, env=environment, check=True, capture_output=True
                )
        ended = subprocess.run(
            reduced(command), shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert ended.returncode == CODES.get(command, 0), (
            f"{command}\n{ended.stdout[-500:]}{ended.stderr[-1500:]}"
        )
        assert "Traceback" not in ended.stderr, command


def test_commands_are_found():
    found = [command for page in PAGES for command in commands(page)]
    assert "flitloom route --torus 4x2x2x2 --nodes nodes -o tables.json" in found
    assert "echo 'node[0-27]' > nodes" in found
    run = [command for command in found if why_parsed(command) is None]
    assert len(found) > 60
    assert len(run) > 30


def test_commands_need_no_program_that_a_fresh_machine_lacks(tmp_path):
    """Programs of others stay out, wherever they stand in a line; what is run runs with nothing but ours."""
    for command in (
        "opensm -R file -Q",
        "flitloom fabric show a.net && opensm -Q",
        "A=1 ibnetdiscover > cluster.topo",
        "echo node | (saquery x)",
    ):
        assert why_parsed(command) in OTHERS.values(), command
    with pytest.raises(AssertionError, match="flitlom is neither"):
        why_parsed("flitlom version")
    assert list(started("A=1 flitloom version; echo 'a | b' > c")) == ["flitloom", "echo"]
    (tmp_path / "flitloom").symlink_to(Path(sys.executable).with_name("flitloom"))
    for page in PAGES:
        for command in commands(page):
            if why_parsed(command) is None:
                missing = [name for name in started(command) if name not in RUN]
                assert not missing, command
