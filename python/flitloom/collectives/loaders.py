"""Programs that load algorithms, and what they hold at most.

Read in their sources: ``src/include/msccl/msccl_struct.h`` and ``msccl_parser.h`` of
Azure/msccl-executor-nccl, ``src/include/msccl.h`` of microsoft/msccl, and
``src/core/include/execution_common.hpp`` of microsoft/mscclpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flitloom.errors import SpecError

#: Steps or operations of a threadblock that every loader takes; writers split what is longer.
STEPS = 64
#: Chunks of a step that every loader takes.
COUNT = 71


@dataclass(frozen=True)
class Loader:
    """A program that loads algorithms.

    Attributes
    ----------
    format : str
        What it loads: ``msccl`` or ``mscclpp``.
    limits : mapping
        By what is counted, how many it takes at most.
    """

    format: str
    limits: Mapping[str, int]

    def refuses(self, counts: Mapping[str, int]) -> list[str]:
        """What of a file is above which limit.

        Examples
        --------
        >>> from flitloom.collectives.loaders import LOADERS
        >>> LOADERS["mscclpp"].refuses({"operations of a threadblock": 65})
        ['65 operations of a threadblock, at most 64']
        """
        return [
            f"{counts[name]} {name}, at most {most}"
            for name, most in self.limits.items()
            if counts.get(name, 0) > most
        ]


_MSCCL = {
    "XML nodes of a GPU (1 + GPUs + threadblocks + steps)": 4096,
    "GPUs": 1024,
    "peers of a channel": 32,
    "channels": 32,
    "chunks before the last one of a buffer": 32767,
    "chunks of a step": COUNT,
    "threadblocks before the last one that a step waits for": 127,
}
#: By the name that users write.
LOADERS = {
    "msccl-executor": Loader(
        "msccl", {"steps of a threadblock": STEPS, "threadblocks of a GPU": 1024, **_MSCCL}
    ),
    "msccl": Loader("msccl", {"steps of a threadblock": 256, "threadblocks of a GPU": 216, **_MSCCL}),
    "mscclpp": Loader(
        "mscclpp",
        {
            "operations of a threadblock": STEPS,
            "remote buffers of a threadblock": 16,
            "channels of an operation": 8,
            "barriers of a GPU": 16,
            "sources of an operation": 10,
        },
    ),
}


def named_loader(name: str, format_: str) -> Loader:
    """The loader of a name, for a file of a format.

    Raises
    ------
    SpecError
        There is none, or it loads another format.
    """
    known = [one for one, loader in LOADERS.items() if loader.format == format_]
    if name not in known:
        what = {"msccl": "MSCCL XML", "mscclpp": "an execution plan of MSCCL++"}.get(format_, "this file")
        advice = f"it is {' or '.join(known)}" if known else "leave it out"
        raise SpecError.at("--for", f"{name[:40]}: is not a program that loads {what}", advice)
    return LOADERS[name]


class Counts(dict[str, int]):
    """How many of what the busiest GPU or threadblock of a file has; a limit ends the writing.

    Parameters
    ----------
    loader : str, optional
        The program whose limits hold.
    """

    def __init__(self, loader: str | None = None) -> None:
        super().__init__()
        self._loader = loader

    def see(self, **counts: int) -> None:
        """Count a GPU; names have underscores for spaces.

        Raises
        ------
        SpecError
            It is above a limit of the loader.
        """
        for name, count in counts.items():
            self.see_as(name.replace("_", " "), count)

    def see_as(self, name: str, count: int) -> None:
        """Count one thing."""
        if count > self.get(name, 0):
            self[name] = count
            refused = LOADERS[self._loader].refuses({name: count}) if self._loader else []
            if refused:
                raise SpecError.at("--for", f"{self._loader} does not take the file: {refused[0]}")


def in_words(format_: str, counts: Mapping[str, int]) -> list[str]:
    """Per program that loads a format, whether it takes a file with these counts.

    Examples
    --------
    >>> from flitloom.collectives.loaders import in_words
    >>> in_words("mscclpp", {"operations of a threadblock": 12})
    ['mscclpp takes it']
    """
    lines = []
    for name, loader in LOADERS.items():
        if loader.format == format_:
            refused = loader.refuses(counts)
            lines.append(f"{name} does not take it: {'; '.join(refused)}" if refused else f"{name} takes it")
    return lines
