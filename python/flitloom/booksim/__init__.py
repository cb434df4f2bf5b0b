"""Files of BookSim2: read, run with its router, printed as it prints, compared with the program itself.

Examples
--------
>>> import pathlib, tempfile
>>> import flitloom as fl
>>> file = pathlib.Path(tempfile.mkdtemp(), "mesh.cfg")
>>> _ = file.write_text("topology = mesh; k = 4; routing_function = dor; seed = 3;")
>>> outcome = fl.booksim.run(fl.booksim.read(file, ["num_vcs=4"]))
>>> outcome.outcome, outcome.cycles
('stable', 6055)
"""

from __future__ import annotations

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.booksim.options import Options, is_booksim, read
    from flitloom.booksim.running import Outcome, demand, run
    from flitloom.load.booksim_curves import run_curve as curve
    from flitloom.load.booksim_curves import run_saturation as saturation
    from flitloom.run.booksim_experiments import experiment, network

#: Where each name is. A look at a file needs no router, so nothing is imported here.
_HOMES = {
    "Options": "flitloom.booksim.options:Options",
    "Outcome": "flitloom.booksim.running:Outcome",
    "curve": "flitloom.load.booksim_curves:run_curve",
    "demand": "flitloom.booksim.running:demand",
    "experiment": "flitloom.run.booksim_experiments:experiment",
    "is_booksim": "flitloom.booksim.options:is_booksim",
    "network": "flitloom.run.booksim_experiments:network",
    "read": "flitloom.booksim.options:read",
    "run": "flitloom.booksim.running:run",
    "saturation": "flitloom.load.booksim_curves:run_saturation",
}

if not TYPE_CHECKING:
    __getattr__ = names_of("flitloom.booksim", _HOMES)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)


__all__ = [
    "Options",
    "Outcome",
    "curve",
    "demand",
    "experiment",
    "is_booksim",
    "network",
    "read",
    "run",
    "saturation",
]
