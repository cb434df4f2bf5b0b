"""Figure 5 of angara-routing-2021: the largest load over whole populations of tori."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flitloom as fl
from flitloom.errors import SpecError, show_file
from flitloom.ground.limits import JSON_BYTES
from flitloom.ground.outputs import append_line
from flitloom.ground.reading import parse_json, read_text
from flitloom.jobs import as_finished
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "angara-routing-2021/figure-5"
TITLE = "Largest load relative to BFS over populations of 2D, 3D and 4D tori"
#: Options that change what is computed.
OPTIONS = ("quick", "full")

#: Total of the largest loads over that of BFS, and over that of the genetic method (Section 5.1).
SSSP_TO_BFS = {"2D": 0.87, "3D": 0.89, "4D": 0.83}
SSSP_TO_GENETIC = {"3D": 0.96, "4D": 0.93}
#: Most nodes of a 3D and a 4D system; the first gives the paper's 339 systems.
MOST_NODES = {"3D": 447, "4D": 432}
#: Systems up to this size are also given to the genetic method.
GENETIC_NODES = 64

POPULATION_REMARK = (
    "Populations: all 49 ordered pairs of sizes 2 to 8; the 339 ordered triples with at most 447 nodes; {} "
    "ordered quadruples with at most 432 nodes{}. The paper does not say how it chose its 339 and "
    "1173 systems."
)
GENETIC_REMARK = (
    f"The genetic method runs on systems of at most {GENETIC_NODES} nodes; "
    "its columns compare totals over these."
)
TIE_REMARK = "Published totals of BFS and SSSP depend on how ties are broken, which the paper leaves open."


def reproduce(context: Context) -> Report:
    """Compute the totals anew; systems already in the data file are not computed again."""
    rows_file = context.file(IDENTIFIER, ".jsonl")
    rows = _known(rows_file, context.seed)
    wanted = list(_systems(context.seed, context.quick))
    missing = [item for item in wanted if item[1] not in rows]
    tasks = [(name, sizes, context.seed) for name, sizes in missing]
    for done, (_, row) in enumerate(as_finished(_row, tasks, context.threads), 1):
        rows[tuple(row["sizes"])] = row
        if rows_file is not None:
            append_line(rows_file, json.dumps(row))
        if context.progress:
            context.progress("systems", len(wanted) - len(missing) + done, len(wanted))
    cells = []
    quadruples = sum(kind == "4D" for kind, _ in wanted)
    everything = quadruples == len(population(4, MOST_NODES["4D"]))
    share = ("all", "") if everything else (quadruples, ", drawn with the seed")
    for name in ("2D", "3D", "4D"):
        chosen = [rows[sizes] for kind, sizes in wanted if kind == name]
        cells += _cells(name, chosen)
    files = [] if rows_file is None else [rows_file]
    if context.folder is not None:
        files.append(_picture(context, [rows[sizes] for _, sizes in wanted]))
    return Report(
        IDENTIFIER, TITLE, cells, [POPULATION_REMARK.format(*share), GENETIC_REMARK, TIE_REMARK], files
    )


def population(dimensions: int, most_nodes: int) -> list[tuple[int, ...]]:
    """All ordered sizes 2 to 8 with at most that many nodes.

    >>> len(population(3, 447))
    339
    """
    found = []
    for sizes in itertools.product(range(2, 9), repeat=dimensions):
        nodes = 1
        for size in sizes:
            nodes *= size
        if nodes <= most_nodes:
            found.append(sizes)
    return found


def _systems(seed: int, quick: bool | None) -> Iterator[tuple[str, tuple[int, ...]]]:
    three, four = population(3, MOST_NODES["3D"]), population(4, MOST_NODES["4D"])
    draw = random.Random(seed)
    if quick:
        three = [sizes for sizes in three if _product(sizes) <= 100]
        three, four = (
            draw.sample(three, 20),
            draw.sample([sizes for sizes in four if _product(sizes) <= 100], 8),
        )
    elif quick is None:
        four = draw.sample(four, 40)
    yield from (("2D", sizes) for sizes in population(2, 64))
    # Large systems first, so that threads end together.
    yield from (("3D", sizes) for sizes in sorted(three, key=_product, reverse=True))
    yield from (("4D", sizes) for sizes in sorted(four, key=_product, reverse=True))


def _row(name: str, sizes: tuple[int, ...], seed: int) -> dict[str, Any]:
    methods = ["balanced", "bfs", "sssp"] + ["genetic"] * (_product(sizes) <= GENETIC_NODES)
    made = {
        method: fl.tables.make(fl.Torus(*sizes), method=method, seed=seed, exact_bound=method == "balanced")
        for method in methods
    }
    return {
        "population": name,
        "sizes": list(sizes),
        "seed": seed,
        "bound": made["balanced"].bound,
        "max_load": {method: tables.max_load for method, tables in made.items()},
        "seconds": {method: round(tables.seconds or 0.0, 5) for method, tables in made.items()},
    }


def _known(file: Path | None, seed: int) -> dict[tuple[int, ...], dict[str, Any]]:
    """Rows of an earlier run; a last line that was cut off is computed again."""
    rows: dict[tuple[int, ...], dict[str, Any]] = {}
    if file is None or not file.exists():
        return rows
    lines = read_text(file, JSON_BYTES).splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = parse_json(line, show_file(file))
            numbers = [*row["sizes"], row["bound"], *row["max_load"].values(), *row["seconds"].values()]
            if not all(isinstance(number, int | float) for number in numbers):
                raise TypeError
            if row["seed"] == seed and {"balanced", "bfs", "sssp"} <= set(row["max_load"]):
                rows[tuple(row["sizes"])] = row
        except (ValueError, KeyError, TypeError, AttributeError):
            if number < len(lines):
                raise SpecError(
                    f"{show_file(file)}, line {number}: is not a row of this figure; move the file away"
                ) from None
    return rows


def _cells(name: str, rows: list[dict[str, Any]]) -> list[Cell]:
    def total(method: str, chosen: list[dict[str, Any]]) -> int:
        return sum(row["max_load"][method] for row in chosen)

    genetic = [row for row in rows if "genetic" in row["max_load"]]
    cells: list[Cell] = [
        Cell(name, "systems", {"2D": 49, "3D": 339, "4D": 1173}[name], len(rows)),
        Cell(name, "SSSP / BFS", SSSP_TO_BFS[name], _ratio(total("sssp", rows), total("bfs", rows))),
        Cell(name, "balanced / BFS", None, _ratio(total("balanced", rows), total("bfs", rows))),
        Cell(
            name,
            "SSSP / Genetic",
            SSSP_TO_GENETIC.get(name),
            _ratio(total("sssp", genetic), total("genetic", genetic)),
        ),
        Cell(name, "balanced / Genetic", None, _ratio(total("balanced", genetic), total("genetic", genetic))),
    ]
    for text, sign in (("SSSP < BFS", -1), ("SSSP = BFS", 0), ("SSSP > BFS", 1)):
        signs = [
            (row["max_load"]["sssp"] > row["max_load"]["bfs"])
            - (row["max_load"]["sssp"] < row["max_load"]["bfs"])
            for row in rows
        ]
        cells.append(Cell(name, text, None, signs.count(sign)))
    worse = sum(row["max_load"]["balanced"] > row["max_load"]["sssp"] for row in rows)
    gaps = [row["max_load"]["balanced"] - row["bound"] for row in rows]
    cells += [
        Cell(name, "balanced > SSSP", None, worse),
        Cell(name, "proven optimal (%)", None, round(100 * sum(gap <= 0 for gap in gaps) / len(gaps), 1)),
        Cell(name, "within 1 of bound (%)", None, round(100 * sum(gap <= 1 for gap in gaps) / len(gaps), 1)),
        Cell(name, "largest gap", None, max(gaps)),
    ]
    return cells


def _picture(context: Context, rows: list[dict[str, Any]]) -> Path:
    from flitloom.plots.canvas import figure, whole_decades

    file = context.file(IDENTIFIER, ".png")
    assert file is not None
    with figure(file, 9, 10) as drawing:
        panels = drawing.subplots(3, 2)
        for (loads, times), name in zip(panels, ("2D", "3D", "4D"), strict=True):
            chosen = [row for row in rows if row["population"] == name]
            nodes = [_product(tuple(row["sizes"])) for row in chosen]
            # Times are kept to 10 microseconds.
            spent = [{method: max(time, 1e-5) for method, time in row["seconds"].items()} for row in chosen]
            for method in ("bfs", "sssp", "genetic", "balanced"):
                known = [number for number, row in enumerate(chosen) if method in row["max_load"]]
                sizes = [nodes[number] for number in known]
                largest = [chosen[number]["max_load"] for number in known]
                loads.scatter(sizes, [load[method] / load["bfs"] for load in largest], s=8, label=method)
                times.scatter(sizes, [spent[number][method] for number in known], s=8, label=method)
            loads.set(title=f"{name} systems", xlabel="nodes", ylabel="largest load / BFS")
            times.set(xlabel="nodes", ylabel="time (s)")
            whole_decades(times, [time for row in spent for time in row.values()])
            loads.legend()
    return file


def _ratio(computed: int, theirs: int) -> float | None:
    return round(computed / theirs, 3) if theirs else None


def _product(sizes: tuple[int, ...]) -> int:
    nodes = 1
    for size in sizes:
        nodes *= size
    return nodes
