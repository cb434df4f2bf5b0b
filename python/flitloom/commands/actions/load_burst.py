"""What ``flitloom load burst`` does."""

from __future__ import annotations

from flitloom.commands import screen
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.actions import load_common
from flitloom.commands.actions.rows import write_rows
from flitloom.commands.load_options import Compared, Packets, Router
from flitloom.commands.load_responses import Burst, Rows
from flitloom.load import run_bursts


def run(compared: Compared, sent: Burst, router: Router, ending: Rows) -> None:
    """Send the packets of all cases, print the durations, and write what is asked for."""
    spread = Packets(hotspot_fraction=sent.hotspot_fraction, hotspot_target=sent.hotspot_target)
    cases = shared.cases(compared, spread, router)
    out, _ = load_common.check_outputs(ending.out, None, (".csv",))
    workers, each = shared.shared_out(ending.threads, len(cases))
    traffic = {"kind": "collective", "packets": sent.packets, "payload": sent.length - 1}
    shared.foretell_memory(((case, traffic) for case in cases), workers)
    with load_common.progress("burst", len(cases), "packets") as show:
        rows, interrupted = run_bursts(
            cases, sent.packets, length=sent.length, workers=workers, threads=each, progress=show
        )
    written = load_common.marked(rows, interrupted, len(cases))
    if out is not None and rows:
        write_rows(written, out)
    if ending.json:
        screen.print_json(written)
    else:
        screen.print_rows(rows)
    load_common.end_interrupted(interrupted, len(rows), len(cases))
