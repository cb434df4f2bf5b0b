"""One network on several processes, its ranks, which ``mpiexec -n 4 flitloom simulate ...`` starts."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flitloom.errors import FlitloomError, SpecError
from flitloom.ground import interrupts
from flitloom.ground.extras import need
from flitloom.ground.lazy import np
from flitloom.ground.numerals import counted

if TYPE_CHECKING:
    from flitloom.networks.network import Network

#: Where launchers of MPI say how many processes they started.
SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
#: Seconds in which all ranks may end alike before the first one, which has said what is wrong, ends them all,
#: and before another one does: the first one must have had the time to say it.
PATIENCE, PATIENCE_OF_OTHERS = 1.0, 10.0


def started() -> int:
    """How many processes a launcher of MPI started; 1 without one."""
    sizes = [os.environ.get(name, "") for name in SIZES]
    return max((int(size) for size in sizes if size.isdigit()), default=1)


class Ranks:
    """How the ranks of a run meet: what crosses the borders goes to the neighbours in every cycle.

    Neighbours have the rows before and behind, on a twisted torus also the opposite ones. Along a full mesh,
    and with pipelined routers, all are neighbours.

    Parameters
    ----------
    network : Network, optional
        The network they share, each some of its rows (nodes of equal last coordinate), or some of its
        pipelined routers, as of a file of BookSim2 without it.

    Raises
    ------
    MissingExtraError
        mpi4py is not installed.
    SpecError
        There are more ranks than rows.
    """

    def __init__(self, network: Network | None = None) -> None:
        need("mpi", "a simulation on several ranks")
        from mpi4py import MPI

        self._mpi = MPI
        self._world: Any = MPI.COMM_WORLD
        self.rank, self.size = int(self._world.rank), int(self._world.size)
        if network is None or network.router.model == "pipelined":
            return
        rows = network.topology.sizes[-1]
        if self.size > rows:
            raise SpecError.at(
                "mpiexec",
                f"{counted(self.size, 'rank')} for a network of {counted(rows, 'row')} (nodes of "
                "equal last coordinate)",
                "start at most as many",
            )

    def exchange(self, messages: Sequence[tuple[int, int, bytes]]) -> list[bytes]:
        """Send to every neighbour, and receive theirs, in the order of the messages.

        Parameters
        ----------
        messages : sequence of (int, int, bytes)
            The other rank, the number of the message among its own, and what goes there.
        """
        kind = self._mpi.BYTE
        going = [self._world.Isend([mail, kind], dest=other, tag=there) for other, there, mail in messages]
        come = []
        for tag, (other, _, _) in enumerate(messages):
            status = self._mpi.Status()
            waiting = self._world.Mprobe(source=other, tag=tag, status=status)
            mail = bytearray(status.Get_count(kind))
            waiting.Recv([mail, kind])
            come.append(bytes(mail))
        self._mpi.Request.Waitall(going)
        return come

    def greatest(self, values: Sequence[int]) -> list[int]:
        """The greatest value of all ranks, place by place."""
        greatest = np.array(values, dtype=np.uint64)
        self._world.Allreduce(self._mpi.IN_PLACE, greatest, op=self._mpi.MAX)
        return [int(value) for value in greatest]

    def sum(self, values: Sequence[int]) -> list[int]:
        """The sum over all ranks, place by place, modulo 2^64."""
        total = np.array(values, dtype=np.uint64)
        self._world.Allreduce(self._mpi.IN_PLACE, total, op=self._mpi.SUM)
        return [int(value) for value in total]

    def any(self, told: bool) -> bool:
        """Whether anything is so on any rank."""
        return self.greatest([told])[0] > 0

    def collect(self, state: bytes) -> list[bytes]:
        """What every rank gives, for all of them."""
        states: list[bytes] = self._world.allgather(state)
        return states


def speaks() -> bool:
    """Whether this process writes files for all: the first rank, or the only process."""
    if started() == 1:
        return True
    from mpi4py import MPI

    return bool(MPI.COMM_WORLD.rank == 0)


@contextmanager
def together(complain: Callable[[str], None]) -> Iterator[None]:
    """Let the first rank speak for all, and end all of them where one fails.

    Where all fail, as for bad input, each ends separately: a launcher that is told to end the others may lose
    what was said last. A rank that is killed ends the others through its launcher.
    """
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    failing = MPI.COMM_WORLD.Dup()
    if rank > 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    code: object = 1
    try:
        yield
    except SystemExit as leaving:
        if not leaving.code:
            return
        code = leaving.code
    except FlitloomError as error:
        complain(str(error))
        code = 2
    except KeyboardInterrupt:
        code = interrupts.INTERRUPTED
    except BaseException:
        traceback.print_exc()
    else:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    code = code if isinstance(code, int) else 1
    all_fail = failing.Ibarrier()
    deadline = time.monotonic() + (PATIENCE_OF_OTHERS if rank > 0 else PATIENCE)
    while not all_fail.Test():
        if time.monotonic() > deadline:
            MPI.COMM_WORLD.Abort(code)
        time.sleep(0.01)
    raise SystemExit(code)
