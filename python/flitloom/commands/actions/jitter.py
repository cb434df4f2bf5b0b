"""What ``flitloom jitter`` does."""

from __future__ import annotations

from flitloom.commands import options, screen
from flitloom.commands.jitter import Compared, Reported, Routers
from flitloom.commands.options import Grid
from flitloom.networks.kinds import network_of_fields
from flitloom.networks.network import Network
from flitloom.scheduling.jitter_table import jitter_table
from flitloom.spec import Collective, Router


def run(grid: Grid, compared: Compared, routers: Routers, reported: Reported) -> None:
    """Compare the methods and print a row for each."""
    topology = grid.required(compared.network)
    network = Network(network_of_fields(topology), Router(**routers.given()))
    collectives = [
        Collective(name, payload=compared.payload, slices=compared.slices)
        for name in compared.patterns.split(",")
    ]
    with screen.progress("patterns and delays") as progress:
        table = jitter_table(
            network,
            collectives,
            options.whole_numbers(compared.jitter, "--jitter"),
            guards=options.whole_numbers(compared.guards, "--guards"),
            trials=compared.trials,
            seed=reported.seed,
            routes=compared.routes,
            separate=compared.separate,
            moves=compared.moves,
            progress=progress,
        )
    if reported.json:
        screen.print_json({"cases": table.rows(), "chosen": table.chosen})
        return
    screen.print_rows(table.rows())
    if reported.chosen:
        screen.echo()
        screen.print_rows(table.chosen)
