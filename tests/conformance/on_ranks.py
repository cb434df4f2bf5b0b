"""What comes of stored cases on all ranks: ``mpiexec -n 2 python tests/conformance/on_ranks.py NAME...``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance import running, ways

if __name__ == "__main__":
    from mpi4py import MPI

    found = {name: ways.outcome(running.Case(name), on_ranks=True) for name in sys.argv[1:]}
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found))
