"""What a check of tables says, whatever kind of tables they are."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.screen import echo, print_json, report, say
from flitloom.errors import show_file
from flitloom.errors.remarks import tell
from flitloom.tables.by_destination.mixing import MixtureReport
from flitloom.tables.by_source.checking import CheckReport
from flitloom.tables.verdict import Verdict


def print_verdict(found: Verdict | MixtureReport, as_json: bool) -> None:
    """Print the verdict."""
    for remark in found.remarks:
        tell(remark)
    with report():
        if as_json:
            print_json(found.facts())
        else:
            echo(str(found))


def certify(found: CheckReport, certificate: Path) -> None:
    """Write the certificate of tables of source routes if there is one."""
    if found.deadlock:
        say(f"note: {show_file(certificate)} is not written: these tables can deadlock")
    elif found.problem_count > len(found.claims.problems):
        say(f"note: {show_file(certificate)} is not written: wrong routes are not certified")
    else:
        proven, bound = found.write_certificate(certificate), found.tables.bound
        if proven < bound:
            say(f"note: {show_file(certificate)} proves {proven or 'nothing'} as a lower bound, not {bound}")
