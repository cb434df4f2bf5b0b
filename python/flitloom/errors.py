"""What can go wrong, as exceptions: one base class, one class per named outcome."""

from __future__ import annotations


class FlitloomError(Exception):
    """Base of every error flitloom raises on purpose; its text is one message for the user."""


class SpecError(FlitloomError, ValueError):
    """A description of a network, its traffic or an output that cannot be right.

    The message says where (the path to the field), what is wrong and what would be right.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Router(buffer=0)
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: router.buffer: 0 is out of range; it must be 1 to 1024 flits
    """


class MissingExtraError(FlitloomError, ImportError):
    """Packages that are installed only on demand are missing; the message names the extra to install."""


class UnreachableError(FlitloomError):
    """Packets need a failed node or link.

    Attributes
    ----------
    pairs : list of (int, int)
        Source and destination of such packets, at most 1000 pairs.
    """

    def __init__(self, message: str, pairs: list[tuple[int, int]]) -> None:
        super().__init__(message)
        self.pairs = pairs


class DeadlockError(FlitloomError):
    """Some flits can never move again.

    Attributes
    ----------
    cycle : int
        Cycle in which the deadlock was found.
    channels : list of dict
        The cycle of waiting channels, each waiting for the next and the last for the first: ``node``,
        ``arrived_along`` (direction, ``None`` at the processor), ``channel``, ``wants`` and
        ``wants_channel``.
    stuck_flits : int
        Flits that can never move again.
    """

    def __init__(self, message: str, cycle: int, channels: list[dict[str, object]], stuck_flits: int) -> None:
        super().__init__(message)
        self.cycle = cycle
        self.channels = channels
        self.stuck_flits = stuck_flits


class CycleLimitError(FlitloomError):
    """A simulation did not finish within its limit of cycles.

    Attributes
    ----------
    cycles : int
        The limit.
    delivered : int
        Packets delivered by then.
    """

    def __init__(self, message: str, cycles: int, delivered: int) -> None:
        super().__init__(message)
        self.cycles = cycles
        self.delivered = delivered
