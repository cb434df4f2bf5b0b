"""Points of curves that no steady state can be given for: a deadlock, or a load that cannot be run."""

from __future__ import annotations

from flitloom.errors import DeadlockError, SpecError
from flitloom.load.bounds import ideal_loads, router_text
from flitloom.load.steady import NAMES, Steady
from flitloom.networks.experiment import Experiment
from flitloom.spec import Load
from flitloom.tables.by_source.tables import Tables

#: What stands in place of a verdict.
DEADLOCK, IMPOSSIBLE = "deadlock", "impossible"


def failed(experiment: Experiment, error: DeadlockError | SpecError, tables: Tables | None = None) -> Steady:
    """The point of a load that ended in an error: its row has a ``cause`` and nothing that was measured.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.load.failed import failed
    >>> load = fl.Load("rand", rate=0.9, length=4, process="gap", cycles=1)
    >>> row = failed(fl.Experiment(topology=fl.Torus(4, 4), traffic=load), SpecError("no such load")).row
    >>> row["verdict"], row["rate"], row["accepted"], row["cause"]
    ('impossible', 0.9, None, 'no such load')
    """
    row = dict.fromkeys(NAMES) | {
        "rate": Load.of(experiment.traffic).rate,
        "verdict": DEADLOCK if isinstance(error, DeadlockError) else IMPOSSIBLE,
        "cause": str(error),
        "cycles": 0,
    }
    return Steady({**row, **ideal_loads(experiment, tables), "router": router_text(experiment, tables)})


def require_possible(point: Steady) -> None:
    """Refuse a point that cannot be run.

    Raises
    ------
    SpecError
        With its cause.
    """
    if point.row["verdict"] == IMPOSSIBLE:
        raise SpecError(point.row["cause"])
