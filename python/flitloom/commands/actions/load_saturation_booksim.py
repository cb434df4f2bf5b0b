"""What ``flitloom load saturation`` does with a file of BookSim2."""

from __future__ import annotations

from flitloom.commands import screen
from flitloom.commands.actions import load_common as shared
from flitloom.commands.actions.load_curve_booksim import JUDGE, stable_beyond
from flitloom.commands.actions.load_saturation import interval
from flitloom.commands.actions.rows import write_rows
from flitloom.commands.inputs.booksim import read
from flitloom.commands.load_curve import Saturated
from flitloom.load.booksim_curves import run_saturation

#: What runs of BookSim2's files do not tell, with which a row is one of all cases.
_UNTOLD = ("slope", "worst_node", "cause", "plateau", "full_start", "receive_bound", "run_cycles")
#: Whose bound it is, and which router.
_LINK, _ROUTER = "the busiest link", "BookSim2"


def run(asked: Saturated) -> None:
    """Find where a file becomes unstable, and print it."""
    file, ending = asked.measured.compared.spec, asked.rows
    assert file is not None
    out, _ = shared.check_outputs(ending.out, None, (".csv",))
    options = read(file, asked.overrules)
    with shared.progress("run", 1, "runs") as show:
        found, interrupted = run_saturation(
            options, within=asked.within, workers=asked.measured.how.threads, progress=show
        )
    if found is not None:
        rate = found.pop("rate")
        bound_of = None if found["bound"] is None else _LINK
        row = {**found, **dict.fromkeys(_UNTOLD), "bound_of": bound_of, "router": _ROUTER}
        if out is not None:
            write_rows([row], out)
        if ending.json:
            screen.print_json([row])
        else:
            columns = ["saturation", "injection_rate", "outcome", "accepted", "latency", "bound", "bound_of"]
            values = [interval(row), rate, *(row[name] for name in columns[2:])]
            screen.print_table(columns, [values])
            screen.echo(f"where it becomes unstable is {JUDGE}")
            below, bound = found["below"], found["bound"]
            if bound is not None and below is not None and below > bound:
                screen.echo(f"the busiest link allows at most {bound:.4g} flits/node/cycle")
                screen.echo(stable_beyond(below))
    shared.end_interrupted(interrupted, int(found is not None), 1)
