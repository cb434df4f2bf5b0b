"""Routing tables as text and as JSON."""

from __future__ import annotations

from flitloom.commands.screen import echo, print_json, print_table
from flitloom.ground.numerals import counted
from flitloom.tables.by_source.compared import summary
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.verdict import Row, bound_row, laid_out


def print_report(tables: Tables, cycle: list[str], as_json: bool) -> None:
    """Print what there is to say of tables; `cycle` is that of a deadlock."""
    if as_json:
        report = {
            **summary(tables),
            "deadlock": bool(cycle),
            "cycle": cycle,
            "histogram": tables.histogram(),
            "most_loaded": tables.most_loaded(),
        }
        print_json(report)
        return
    facts = summary(tables)
    loads = f"max {facts['max_load']}, min {facts['min_load']}, mean {facts['perfect_load']:.3f}"
    rows: list[Row] = [
        ("load", loads, []),
        ("sigma(4)", f"{facts['sigma4']:.3f}", []),
        ("max D", counted(facts["max_distance"], "hop"), []),
        bound_row(tables.bound, tables.bound_in_words, tables.max_load),
        ("most loaded", ", ".join(f"{name} {load}" for name, load in tables.most_loaded()), []),
    ]
    if tables.seconds is not None:
        rows.append(("time", f"{tables.seconds:.4f} s", []))
    echo(f"{tables.topology}, {tables.method} tables, rules {tables.rules.name}")
    echo("\n".join(laid_out(rows)))
    echo("load  links")
    _print_histogram(tables)


def _print_histogram(tables: Tables) -> None:
    histogram = tables.histogram()
    bins = sorted(histogram) if len(histogram) <= 24 else []
    for load in bins:
        echo(f"{load:4}  {histogram[load]:5}  " + "#" * min(60, histogram[load]))
    if not bins:
        low, high = tables.min_load, tables.max_load
        width = (high - low) // 16 + 1
        for start in range(low, high + 1, width):
            count = sum(links for load, links in histogram.items() if start <= load < start + width)
            echo(f"{start}-{start + width - 1}  {count}")


def print_comparison(made: list[Tables], cycles: list[list[str]], as_json: bool) -> None:
    """Print tables side by side; `cycles` are those of their deadlocks."""
    if as_json:
        rows = zip(made, cycles, strict=True)
        print_json([{**summary(tables), "deadlock": bool(cycle), "cycle": cycle} for tables, cycle in rows])
        return
    best = max(tables.bound for tables in made)
    echo(f"{made[0].topology}; no tables have a largest load below {best}")
    columns = ("method", "max load", "min load", "sigma(4)", "max D", "gap", "time (s)")
    print_table(
        columns,
        [
            (
                tables.method,
                tables.max_load,
                tables.min_load,
                round(tables.sigma4, 3),
                tables.max_distance,
                tables.max_load - best,
                round(tables.seconds or 0.0, 4),
            )
            for tables in made
        ],
    )
