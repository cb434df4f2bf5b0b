"""``flitloom sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom import interrupts
from flitloom.commands import options, screen
from flitloom.errors import SpecError
from flitloom.extras import need
from flitloom.outputs import check_output, write_csv


def command(
    spec: Annotated[Path, typer.Argument(help="The experiment, a TOML file.")],
    grid: Annotated[
        list[str],
        typer.Option(
            help="Values of a field: a list 4,8,16, a range 0.02:0.4:0.02 with its end, or names. May be "
            "repeated; all combinations are run.",
            metavar="FIELD=VALUES",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Rows of all simulations (.csv or .parquet).")],
    preset: options.Preset = None,
    settings: options.Changes = None,
    seeds: Annotated[int, typer.Option(help="Simulations per combination, each with its own seed.")] = 1,
    store: Annotated[
        Path | None,
        typer.Option(help="SQLite file of finished simulations. [default: that of --out, .sqlite]"),
    ] = None,
    workers: options.Workers = None,
    mpi: Annotated[
        bool, typer.Option("--mpi", help="On the ranks of mpiexec -n N python -m mpi4py.futures.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Simulate an experiment over a grid of any of its fields; stop and resume at will.

    Every simulation has an id of all it depends on; finished ones are kept in the store and not run again.

    \b
    For example:
      flitloom sweep examples/load.toml --grid router.buffer=4,8 --grid traffic.rate=0.02:0.2:0.02 -o out.csv
      flitloom plot out.csv --x traffic.rate --y mean_latency --by router.buffer -o out.png
    """
    from flitloom.jobs import Store
    from flitloom.simulation import experiment_memory
    from flitloom.spec.experiment import change, read_fields
    from flitloom.sweep import Sweep, read_values, run_sweep, sweep_causes, sweep_rows

    check_output(out, (".csv", ".parquet"), "--out")
    if out.suffix == ".parquet":
        need("parquet", "--out *.parquet")
    fields = read_fields(spec)
    options.merge(fields, {"router": {"preset": preset}} if preset is not None else {})
    for setting in settings or []:
        change(fields, setting)
    values = {}
    for entry in grid:
        name, equals, text = entry.partition("=")
        if not equals or not text or name in values:
            raise SpecError(f"--grid {entry}: write each field once, with its values, as router.buffer=4,8")
        values[name.strip()] = read_values(text)
    points = Sweep(fields, values, seeds, spec.parent).points()
    by_topology = {str(point.spec["experiment"]["topology"]): point for point in points}
    needs = {name: experiment_memory(point.experiment) for name, point in by_topology.items()}
    sizes = (needs[str(point.spec["experiment"]["topology"])] for point in points)
    screen.foretell_memory(sizes, workers)
    results = Store(check_output(store or out.with_suffix(".sqlite"), place="--store").absolute())
    executor = None
    if mpi:
        need("mpi", "--mpi")
        from mpi4py.futures import MPIPoolExecutor

        executor = MPIPoolExecutor()
    try:
        with interrupts.keeping(), screen.progress("simulations") as show:
            count = run_sweep(points, results, executor=executor, workers=workers, progress=show)
        rows = list(sweep_rows(points, results))
        causes = sweep_causes(points, results)
    except KeyboardInterrupt:
        interrupts.kept()
        finished = results.finished()
        kept = sum(point.id in finished for point in points)
        interrupts.tell(f"interrupted: {kept} of {len(points)} simulations are finished and kept")
        raise typer.Exit(interrupts.INTERRUPTED) from None
    finally:
        if executor is not None:
            executor.shutdown()
        results.close()
    if out.suffix == ".parquet":
        from flitloom.commands.campaign import write_parquet

        write_parquet(rows, out)
    else:
        write_csv(list(rows[0]), (row.values() for row in rows), out)
    if json:
        screen.print_json(rows)
    for outcome, (times, first, cause) in causes.items():
        screen.say(f"note: outcome {outcome} {times} times, first of {first}: {cause}")
    screen.say(f"wrote {out}: {len(rows)} simulations, {count} of them run now")
