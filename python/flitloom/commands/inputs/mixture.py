"""Two sets of tables by destination of a fabric, of which one replaces the other."""

from __future__ import annotations

import typer

from flitloom.commands import screen
from flitloom.commands.actions.subnets import twisted
from flitloom.commands.check import Asked
from flitloom.commands.inputs.fabric import required_kinds, subnet_of, tables_of
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.verdicts import print_verdict
from flitloom.errors import SpecError, show_file
from flitloom.tables.by_destination.mixing import check_mixture


def check(asked: Asked) -> None:
    """Judge all mixtures of both; exit code 1 where not any order is safe."""
    given, judged = asked.of_fabric, asked.judged
    first, second = tables_of(asked), given.mix
    assert second is not None
    if judged.torus is not None and judged.twist:
        subnet = twisted(judged.torus, judged.fail or [])
    elif given.fabric is not None or given.network is not None:
        subnet = subnet_of(asked)
    else:
        raise SpecError.at(
            "--mix", "no fabric is named", "name it with --fabric, --network or --torus --twist"
        )
    if first is None:
        raise SpecError.at("--mix", "only one set of tables is named", "name the other one, too: a folder")
    with screen.progress(f"mixtures with {show_file(second)}", "destinations") as step:
        found = check_mixture(
            subnet, first, second, step, managers=given.manager or (), required=required_kinds(given)
        )
    print_verdict(found, judged.as_json)
    if not found.passed:
        raise typer.Exit(1)


INPUT = Input(
    title="two sets of tables by destination",
    given="name the second one with --mix",
    asked=lambda given: "mix" in given,
    uses={
        "check": Use(
            check,
            names_of(
                *("mix", "fabric", "network", "hosts", "no_hosts", "lft", "fdbs", "torus", "twist", "fail"),
                *("manager", "safe_for", "_threads", "as_json"),
            ),
            (
                Refusal(
                    names_of(
                        *("path_sl", "slvl", "lanes", "nodes", "hca", "sm_sl", "mcfdbs", "multicast_sl"),
                        *("certificate",),
                    ),
                    "{option}",
                    "does not go with --mix",
                    "each folder names its levels and lanes",
                ),
            ),
        ),
    },
)
