"""What ``flitloom validate doors`` does: every kind of input is given to every verb."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

from flitloom.commands import run as run_words
from flitloom.commands import screen
from flitloom.networks.experiment import read_experiment
from flitloom.run.simulation import begin_experiment

#: How cells of the table are written.
WORKS, REFUSED, BADLY = "works", "refused", "badly"
#: Characters of a message that is read at a glance.
LONGEST = 420
#: Fields of an input, and options, with which a message may begin in place of the name of the input.
_FIELDS = re.compile(r"(topology|network|router|traffic)(\.\w+)*:|(--\w|TARGET)")
#: Options that say the same as a text.
_OPTIONS = {"4x4": "--torus 4x4", "mesh 4x4": "--mesh 4x4", "twisted 2x4": "--torus 2x4 --twist"}


@dataclass(frozen=True)
class Given:
    """An input.

    Attributes
    ----------
    title : str
        What it is.
    name : str
        What is written on the command line: a text, or the name of a file.
    network : str
        The shortest text, or the plainest file, that names the same network; empty where it is about none.
    made : str
        The command that writes it; empty for a text and for a file of `SOURCES`.
    """

    title: str
    name: str
    network: str = ""
    made: str = ""


@dataclass(frozen=True)
class Door:
    """A way into a verb.

    Attributes
    ----------
    title : str
        What it is called in the table.
    words : str
        The command; ``{}`` is the input.
    grids : bool
        Whether the verb takes ``--torus`` and ``--mesh``, too.
    tables : bool
        Whether packets follow the tables of a folder.
    """

    title: str
    words: str
    grids: bool = False
    tables: bool = False


@dataclass(frozen=True)
class Cell:
    """What came of an input in a verb, and what was said of it."""

    given: Given
    door: Door
    verdict: str
    message: str

    def fields(self) -> dict[str, str]:
        """Fields of a row."""
        return {
            "input": self.given.title,
            "name": self.given.name,
            "verb": self.door.title,
            "verdict": self.verdict,
            "message": self.message,
        }


RING, PRODUCT, FAMILY = "ring.csv", "full4 x ring3", "dragonfly(3,1,2)"
#: The closed list of inputs.
INPUTS = (
    Given("sizes", "4x4", "4x4"),
    Given("a mesh", "mesh 4x4", "mesh 4x4"),
    Given("a twisted torus", "twisted 2x4", "twisted 2x4"),
    Given("a product", PRODUCT, PRODUCT),
    Given("a family", FAMILY, FAMILY),
    Given("cables (CSV)", RING, RING),
    Given("GraphML", "ring.graphml", RING),
    Given("anynet of BookSim2", "ring.anynet", RING),
    Given("ibnetdiscover", "ring.topo", RING),
    Given("a file of BookSim2", "mesh.cfg", "mesh 4x4"),
    Given("an experiment", "experiment.toml", "4x4"),
    Given("an experiment of switches", "hosts.toml", FAMILY),
    Given("a campaign", "campaign.toml", "4x4"),
    Given("a result", "result.nc", "4x4", "simulate experiment.toml -o result.nc"),
    Given("a checkpoint", "long.flit", "4x4"),
    Given("a plan of packets", "plan.json", "4x4", "schedule --torus 4x4 --pattern next -o plan.json"),
    Given("a plan", "gather.json", "4x4", "collective all-gather --torus 4x4 -o gather.json"),
    Given(
        "a plan, twisted",
        "twist.json",
        "twisted 2x4",
        "collective all-gather --torus 2x4 --twist -o twist.json",
    ),
    Given(
        "a plan of a product",
        "product.json",
        PRODUCT,
        f"collective all-gather --network '{PRODUCT}' -o product.json",
    ),
    Given(
        "a plan of cables", "on-ring.json", RING, f"collective all-gather --network {RING} -o on-ring.json"
    ),
    Given("source routes", "tables.json", "4x4", "route --torus 4x4 -o tables.json --certificate proof.json"),
    Given("source routes, packed", "tables.npz", "4x4", "route --torus 4x4 -o tables.npz"),
    Given("a certificate", "proof.json", "4x4"),
    Given(
        "a folder of tables",
        "folder",
        FAMILY,
        f"route --network '{FAMILY}' -o folder --certificate proof-of-folder.json",
    ),
    Given("its certificate", "proof-of-folder.json", FAMILY),
    Given("a folder of a file", "ring-folder", RING, f"route --network {RING} -o ring-folder"),
    Given("a placement", "placement.json", "4x4", "place --torus 4x4 --stencil 4x4 -o placement.json"),
    Given(
        "a placement on hosts",
        "hosts.json",
        FAMILY,
        f"place --network '{FAMILY}' --stencil 6x4 -o hosts.json",
    ),
    Given("a page", "page.html", "", "view plan.json -o page.html"),
    Given("MSCCL XML", "gather.xml", "", "convert gather.json gather.xml"),
    Given("GOAL", "gather.goal", "", "convert gather.json gather.goal"),
    Given("a file of something else", "notes.txt"),
)
#: The files that no command writes.
SOURCES = {
    RING: "".join(f"router{n},router{(n + 1) % 6}\n" for n in range(6)),
    "ring.graphml": '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    + "".join(f'<node id="router{n}"/>' for n in range(6))
    + "".join(f'<edge source="router{n}" target="router{(n + 1) % 6}"/>' for n in range(6))
    + "</graph></graphml>\n",
    "ring.anynet": "".join(f"router {n} node {n} router {(n + 1) % 6}\n" for n in range(6)),
    "ring.topo": "".join(
        f'Switch 36 "router{n}"\n[1] "router{(n + 1) % 6}"[2]\n[2] "router{(n + 5) % 6}"[1]\n\n'
        for n in range(6)
    ),
    "experiment.toml": '[topology]\nsizes = "4x4"\n\n[traffic]\nkind = "collective"\npattern = "next"\n',
    "hosts.toml": f'[topology]\nnetwork = "{FAMILY}"\n\n[router]\nmodel = "pipelined"\n\n'
    '[traffic]\nkind = "collective"\npattern = "next"\n',
    "campaign.toml": '[topology]\nsizes = "4x4"\n\n[genetic]\ngenerations = 1\n',
    "mesh.cfg": "topology = mesh;\nk = 4;\nn = 2;\nrouting_function = dor;\ntraffic = uniform;\n"
    "injection_rate = 0.05;\nnum_vcs = 2;\nsample_period = 500;\nmax_samples = 4;\n",
    "notes.txt": "Nothing here is a network.\n",
}
#: The closed list of ways into verbs: a file alone, and what ``--network`` names.
DOORS = (
    Door("view", "view {} -o out.html"),
    Door("check", "check {}"),
    Door("recheck", "recheck {}"),
    Door("simulate", "simulate {}"),
    Door("convert", "convert {} out.json"),
    Door("simulate --network", "simulate --network {} --pattern next --json", True, True),
    Door("load bound --network", "load bound --network {} --pattern rand --json", True),
    Door(
        "load saturation --network",
        "load saturation --network {} --pattern next --within 0.5 --measure 200 --json",
        True,
        True,
    ),
    Door("route --network", "route --network {} --json", True),
    Door("place --network", "place --network {} --axes a=4:ring:8 --effort 1 --json", True),
    Door("collective --network", "collective all-gather --network {} --json", True),
    Door("collective advise --network", "collective advise --operation all-gather --network {} --json", True),
    Door("schedule --network", "schedule --network {} --pattern next --method greedy --json", True),
    Door("stack --network", "stack --network {} --pattern next --json", True),
    Door(
        "jitter --network",
        "jitter --network {} --patterns next --jitter 0 --trials 1 --moves 500 --json",
        True,
    ),
    Door("fabric show --network", "fabric show --network {} --json"),
    Door("view --network", "view --network {} -o out.html --json"),
)


def cells(told: Callable[[int, int], None] = lambda *_: None) -> Iterator[Cell]:
    """Give every input to every verb.

    An answer to ``--network`` is compared with that to the shortest form of the same network.
    """
    with tempfile.TemporaryDirectory() as folder, _within(Path(folder)):
        for name, text in SOURCES.items():
            Path(name).write_text(text)
        begin_experiment(read_experiment(Path("experiment.toml"))).save("long.flit")
        for given in INPUTS:
            if given.made and (done := _run(given.made))[0]:
                raise AssertionError(f"{given.made}: {done[2]}")
        answer = cache(_run)
        pairs = [
            (given, door)
            for given in INPUTS
            for door in DOORS
            if "--network" in door.words or Path(given.name).exists()
        ]
        for number, (given, door) in enumerate(pairs):
            told(number, len(pairs))
            found = answer(door.words.format(shlex.quote(given.name)))
            if "--network" not in door.words:
                yield Cell(given, door, *_judged(given, *found))
            elif not given.network:
                verdict, message = _judged(given, *found)
                yield Cell(given, door, BADLY if verdict == WORKS else verdict, message)
            else:
                yield Cell(given, door, *_compared(given, found, answer(_plain(given, door))))


def _plain(given: Given, door: Door) -> str:
    """The command that names the network of an input in its shortest form."""
    named = f"--network {shlex.quote(given.network)}"
    if door.grids:
        named = _OPTIONS.get(given.network, named)
    if door.tables and Path(given.name).is_dir():
        named += f" --tables {given.name}"
    return door.words.replace("--network {}", named)


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    """Stand in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run(command: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        try:
            code = run_words(shlex.split(command))
        except Exception as fault:
            return -1, "", f"{type(fault).__name__}: {fault}"
    return code, out.getvalue(), error.getvalue()


def _judged(given: Given, code: int, out: str, error: str) -> tuple[str, str]:
    """The verdict on what a command said, and its message."""
    if code == 0:
        return WORKS, ""
    lines = error.strip().splitlines() or [out]
    message = lines[-1].removeprefix("error: ")
    told = [line for line in lines if line.startswith("error: ")]
    named = given.name in message or _FIELDS.match(message)
    if code == 2 and not out and told == lines[-1:] and named and len(message) <= LONGEST:
        return REFUSED, message
    return BADLY, f"exit code {code}: {error.strip() or out}"


def _compared(given: Given, found: tuple[int, str, str], plain: tuple[int, str, str]) -> tuple[str, str]:
    """The verdict on an answer beside that to the shortest form of the same network."""
    verdict, message = _judged(given, *found)
    if verdict == BADLY or (found[0] == 0 and plain[0] == 0 and _facts(found[1]) == _facts(plain[1])):
        return verdict, message
    if found[0] == plain[0] == 2:
        return verdict, message
    return BADLY, f"{message or 'another answer'}; with {given.network}: {plain[2].strip() or 'works'}"


def _facts(text: str) -> Any:
    """An answer without times, and without what the network is called."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            if "coordinates" in value:
                # By the names of switches.
                value = {**value, "coordinates": list(value["coordinates"].values())}
            kept = {name: one for name, one in value.items() if not _CALLED.search(name)}
            return {name: plain(one) for name, one in kept.items()}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return plain(json.loads(text))


#: Fields that say what a network, its ports and its hosts are called.
_CALLED = re.compile(
    "seconds|^(network|torus|mesh|spec|title|fabric|remarks|link|busiest_link|host_names|cycle|premise)$"
)


def run(as_json: bool) -> None:
    """Print the table; exit code 1 if anything is answered badly."""
    with screen.progress("inputs in verbs") as told:
        found = list(cells(told))
    if as_json:
        screen.print_json([cell.fields() for cell in found])
    else:
        _print(found)
    if any(cell.verdict == BADLY for cell in found):
        raise typer.Exit(1)


def _print(found: list[Cell]) -> None:
    """A row per input, a column per verb, with numbers for the names of the verbs."""
    verdicts = {(cell.given, cell.door): cell.verdict for cell in found}
    signs = {WORKS: "+", REFUSED: "-", BADLY: "BAD", "": ""}
    rows = [[given.title, *(signs[verdicts.get((given, door), "")] for door in DOORS)] for given in INPUTS]
    screen.print_table(["input", *map(str, range(1, len(DOORS) + 1))], rows)
    screen.echo()
    for number, door in enumerate(DOORS, start=1):
        screen.echo(f"{number:2}  flitloom {door.words}")
    counts = Counter(cell.verdict for cell in found)
    screen.echo(f"+ works: {counts[WORKS]}, - refused in one line: {counts[REFUSED]}, badly: {counts[BADLY]}")
    for cell in found:
        if cell.verdict == BADLY:
            screen.echo(f"{cell.door.title} {cell.given.name}: {cell.message}")
