"""What a check of tables by destination says."""

from __future__ import annotations

from flitloom.commands.screen import echo, print_json, report, say
from flitloom.fabric import SubnetReport
from flitloom.numerals import counted


def print_verdict(found: SubnetReport, as_json: bool) -> None:
    """Print the verdict."""
    for remark in found.remarks:
        say(f"note: {remark}")
    with report():
        if as_json:
            print_json(found.facts())
        else:
            _print(found)


def _print(found: SubnetReport) -> None:
    echo(f"rules        {found.rules_in_words} ({found.rules_from})")
    echo("deadlock     " + ("possible:" if found.deadlock else "none possible"))
    for line in found.cycle:
        echo(f"  {line}")
    echo(f"unreachable  {counted(found.unreachable, 'pair')} of hosts")
    for line in found.unreachable_pairs[:10]:
        echo(f"  {line}")
    echo(f"load         at most {counted(found.max_load, 'host pair')} on a channel")
    echo(f"lower bound  {found.bound} ({found.bound_proof})")
    echo(f"lanes        {found.lanes} used, {counted(found.service_levels, 'service level')}")
    echo("passed" if found.passed else "FAILED")
