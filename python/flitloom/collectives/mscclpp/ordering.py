"""What orders the operations of an MSCCL++ execution plan.

Threads of a threadblock share the work of an operation on data, and continue to the next one without waiting
for each other; ``nop`` and ``barrier`` make them wait. A signal, a wait, a semaphore operation and a transfer
of a port channel are the work of single threads, which do those of a threadblock in order
(``src/core/include/execution_kernel.hpp`` of MSCCL++).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise

from flitloom.collectives.contents import At
from flitloom.collectives.mscclpp.read import Block
from flitloom.collectives.order import Order
from flitloom.collectives.races import Access


class _Threads:
    """A threadblock between two meetings of its threads."""

    def __init__(self, chain: int, event: int) -> None:
        self.chain = chain
        #: The last meeting, the one to come (once it is there), and what single threads have learned since.
        self.met = event
        self.next: list[int] = []
        self.loose: list[int] = []
        #: The chain of its operations on packets; -1 before the first one.
        self.packets = -1


class _Counter:
    """Releases and acquires of a semaphore, or signals of a channel and waits for them."""

    def __init__(self, initial: int) -> None:
        self.initial = initial
        #: By chain and event, and whether it makes known what was written before.
        self.releases: list[tuple[int, int, bool]] = []
        self.acquires: list[tuple[int, int, bool]] = []


class Ordering:
    """The events of a run: meetings of threads, signals, semaphores, transfers of port channels."""

    def __init__(self, blocks: Sequence[Block], semaphores: dict[tuple[int, int], int]) -> None:
        self.order = Order()
        self._threads: dict[tuple[int, int], _Threads] = {}
        self._ports: dict[tuple[int, int, int], int] = {}
        self._semaphores = semaphores
        self._counters: dict[Hashable, _Counter] = {}
        self._work = 0
        #: Who met last at a barrier, with the event after it.
        self._barriers: dict[tuple[int, int], dict[int, int]] = {}
        #: Who comes to a barrier at which others met: an event behind that, the coming, and what is wrong.
        self.strangers: list[tuple[int, int, str]] = []
        for block in blocks:
            chain = self.order.chain(block.gpu)
            self._threads[block.gpu, block.number] = _Threads(chain, self.order.add(chain))

    def meet(self, blocks: Sequence[Block], barrier: int = -1) -> None:
        """All threads of these threadblocks wait for each other, at a barrier if there are several."""
        threads = [self._threads[block.gpu, block.number] for block in blocks]
        come = []
        for one in threads:
            event = self.order.add(one.chain, one.loose)
            one.next.append(event)
            one.met, one.next, one.loose = event, [], []
            come.append(event)
        if len(blocks) == 1:
            return
        together = self.order.add_loose(blocks[0].gpu, come)
        for one in threads:
            one.met = self.order.add(one.chain, [together])
        key = (blocks[0].gpu, barrier)
        before = self._barriers.get(key, {})
        for block, event in zip(blocks, come, strict=True):
            if before and block.number not in before:
                missing = "nothing keeps it from coming while other threadblocks meet there"
                text = f"{block}: barrier {barrier}: {missing}"
                self.strangers.append((next(iter(before.values())), event, text))
        self._barriers[key] = {block.number: self._threads[block.gpu, block.number].met for block in blocks}

    def alone(self, block: Block) -> int:
        """An operation of single threads of a threadblock."""
        return self.order.add(self._threads[block.gpu, block.number].chain)

    def release(self, block: Block, key: Hashable, event: int, relaxed: bool = False) -> None:
        """A semaphore is released, or a signal sent, by `event`."""
        chain = self._threads[block.gpu, block.number].chain
        self._counter(key).releases.append((chain, event, not relaxed))

    def acquire(self, block: Block, key: Hashable, event: int, relaxed: bool = False) -> None:
        """A semaphore is acquired, or a signal waited for, by `event`."""
        chain = self._threads[block.gpu, block.number].chain
        self._counter(key).acquires.append((chain, event, not relaxed))

    def _counter(self, key: Hashable) -> _Counter:
        if key not in self._counters:
            initial = self._semaphores.get(key, 0) if isinstance(key, tuple) and len(key) == 2 else 0
            self._counters[key] = _Counter(initial)
        return self._counters[key]

    def port(self, block: Block, channel: tuple[int, int, str]) -> int:
        """The next work of a port channel: it does what threads ask it for in order."""
        key = (block.gpu, channel[0], channel[1])
        if key not in self._ports:
            self._ports[key] = self.order.chain(block.gpu)
        return self.order.add(self._ports[key], [self.alone(block)])

    def flush(self, block: Block, channels: Sequence[tuple[int, int, str]]) -> None:
        """Single threads wait until port channels have done all they were asked for."""
        known = [self._ports.get((block.gpu, peer, number)) for peer, number, _ in channels]
        events = [self.order.last(chain) for chain in known if chain is not None]
        self.order.add(self._threads[block.gpu, block.number].chain, events)

    def data(self, block: Block) -> tuple[Access, Access]:
        """A read and a write of an operation in which all threads share."""
        threads = self._threads[block.gpu, block.number]
        return self._both(threads.met, threads.next, threads.chain, At(block, block.done))

    def packets(self, block: Block, brought: Sequence[int]) -> tuple[Access, Access]:
        """The same of an operation on packets; `brought` are the writers of those it reads.

        Every thread reads and writes packets one by one. Who has read one knows that what came before is over
        for this piece of data, and so do the next operations on packets of the same threads.
        """
        threads = self._threads[block.gpu, block.number]
        if threads.packets < 0:
            threads.packets = self.order.chain(block.gpu)
        event = self.order.add(threads.packets, [threads.met, *brought])
        threads.loose.append(event)
        return self._both(event, [event], threads.chain, At(block, block.done))

    def asked(self, block: Block, channel: tuple[int, int, str]) -> tuple[Access, Access]:
        """A read and a write that a port channel does."""
        event = self.port(block, channel)
        return self._both(
            event, [event], self._ports[block.gpu, channel[0], channel[1]], At(block, block.done)
        )

    def _both(self, start: int, end: list[int], actor: int, name: object) -> tuple[Access, Access]:
        self._work += 1
        return (
            Access(start, end, self._work, actor, name, writes=False),
            Access(start, end, self._work, actor, name, writes=True),
        )

    def settle(self) -> None:
        """Find what counters order: an acquire comes after the releases that it cannot do without.

        Where all releases are in order, and all acquires, the n-th meets the n-th. Where several threadblocks
        release, an acquire that is the n-th needs n releases; those of a threadblock beyond what all others
        can contribute are needed, and in order. What cannot contribute, since it comes after the acquire, is
        found by what is ordered so far.
        """
        several = []
        for counter in self._counters.values():
            chains = [{chain for chain, *_ in listed} for listed in (counter.releases, counter.acquires)]
            if all(len(found) <= 1 for found in chains):
                self._match(counter)
            else:
                several.append(counter)
        while several:
            # What some counters order may put others in order.
            left = self._disordered(several)
            if len(left) == len(several):
                break
            for counter in several:
                if counter not in left:
                    self._match(counter)
            several = left
        known: set[tuple[int, int]] = set()
        while several:
            found = [one for one in self._needed(several) if (one[0][1], one[1]) not in known]
            for release, event, strict in found:
                known.add((release[1], event))
                self._precede(release, event, strict)
            if not found:
                return

    def _disordered(self, counters: list[_Counter]) -> list[_Counter]:
        """Counters whose releases, or whose acquires, can come in another order."""
        asked: list[tuple[int, int]] = []
        whose: list[int] = []
        for number, counter in enumerate(counters):
            for listed in (counter.releases, counter.acquires):
                for (_, first, _), (_, then, _) in pairwise(listed):
                    asked.append((first, then))
                    whose.append(number)
        return [
            counters[number] for number in sorted({whose[place] for place in self.order.unordered(asked)})
        ]

    def _match(self, counter: _Counter) -> None:
        """Let releases and acquires that are in order meet one by one."""
        for number, (_, event, strict) in enumerate(counter.acquires):
            needed = number + 1 - counter.initial
            if 0 < needed <= len(counter.releases):
                self._precede(counter.releases[needed - 1], event, strict)

    def _precede(self, release: tuple[int, int, bool], event: int, strict: bool) -> None:
        if strict and release[2]:
            self.order.precede(release[1], event)
        else:
            self.order.precede_relaxed(release[1], event)

    def _needed(self, counters: list[_Counter]) -> list[tuple[tuple[int, int, bool], int, bool]]:
        """Releases of counters without which acquires cannot be."""
        asked: list[tuple[int, int]] = []
        for counter in counters:
            for _, acquire, _ in counter.acquires:
                asked += [(event, acquire) for _, event, _ in counter.acquires]
                asked += [(acquire, event) for _, event, _ in counter.releases]
        open_ = set(self.order.unordered(asked))
        found = []
        place = 0
        for counter in counters:
            for _, acquire, strict in counter.acquires:
                end = place + len(counter.acquires)
                # The acquire itself is among those that are surely there.
                needed = sum(number not in open_ for number in range(place, end)) - counter.initial
                left: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
                for number, release in enumerate(counter.releases, end):
                    if number in open_:
                        left[release[0]].append(release)
                place = end + len(counter.releases)
                possible = sum(map(len, left.values()))
                for mine in left.values():
                    sure = needed - (possible - len(mine))
                    if sure > 0:
                        found.append((mine[min(sure, len(mine)) - 1], acquire, strict))
        return found
