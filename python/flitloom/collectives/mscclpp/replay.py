"""Replays an MSCCL++ execution plan as soon as possible, with symbolic contents.

What a GPU writes into another one's buffers lies there when it has been over the link, and may be read after
a signal of the writer was waited for; packets may be read as soon as they are there. Threadblocks run their
operations in order and meet at barriers and semaphores. Whether the outcome is the same in every other run is
judged by what happens before what (`ordering`).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from heapq import heappop, heappush

from flitloom.collectives.contents import MOST_PROBLEMS, At, Content, Contents, Hop, Place, some
from flitloom.collectives.mscclpp.ordering import Ordering
from flitloom.collectives.mscclpp.read import (
    MOVES,
    PACKETS,
    RELAXED,
    SIGNALS,
    Block,
    Operation,
    Piece,
    Plan,
)
from flitloom.collectives.races import Accesses
from flitloom.ground.reading import Progress

#: A chunk on its way: when it is there, where to, what, who wrote it, its hop, and the event of its packet.
_Letter = tuple[int, Place, Content, object, Hop, int]
#: What a threadblock sleeps on: a signal, a semaphore, or chunks at a place of a GPU.
_Awaited = tuple[int, int, int, str] | tuple[int, int] | tuple[int, Place]
#: Operations that write packets into the scratch buffer of their own GPU.
_LOCAL_PACKETS = ("cpkt", "recpkt", "recspkt")


class Replay(Contents):
    """Runs a plan as soon as possible: a link transfers a chunk per step, all else takes no time.

    Attributes
    ----------
    problems : list of str
        What is wrong, each with GPU, threadblock and operation where there is one.
    hops : list of Hop
        Every chunk over every link.
    steps : int
        Link steps until the last chunk has arrived.
    """

    def __init__(
        self, plan: Plan, links: Counter[tuple[int, int]] | None, told: Progress | None = None
    ) -> None:
        super().__init__(plan.buffers)
        self.plan, self.links, self._told = plan, links, told
        self.hops: list[Hop] = []
        self.steps = 0
        #: By (writer, reader): what was written and not signalled yet; packets are in `packets`, by time.
        self.pending: dict[tuple[int, int], list[_Letter]] = defaultdict(list)
        self.packets: dict[int, list[tuple[int, _Letter]]] = defaultdict(list)
        #: By (writer, reader, number, type): when a signal is there, and what it tells of.
        self.signals: dict[tuple[int, int, int, str], deque[tuple[int, list[_Letter]]]] = defaultdict(deque)
        self.semaphores = dict(plan.semaphores)
        self.free: dict[tuple[int, int], list[int]] = {}
        self.met: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.told: dict[tuple[int, int], int] = {}
        #: The hop that brought what lies at a place of a GPU, and until when threadblocks read from others.
        self.brought: dict[tuple[int, Place], Hop] = {}
        self.until: dict[tuple[int, int], int] = {}
        self.ordering = Ordering(plan.blocks, plan.semaphores)
        self.accesses = Accesses(self.ordering.order)
        #: The event of the writer of a packet that lies at a place of a GPU.
        self.packed: dict[tuple[int, Place], int] = {}
        self.writers: dict[tuple[int, Place], object] = {}
        #: Threadblocks that may go on now, in this sweep and in the next one, or at a time; -1 are packets.
        self._ready: list[int] = []
        self._again: list[int] = []
        self._timers: list[tuple[int, int]] = []
        self._sleepers: dict[_Awaited, list[int]] = {}
        missing: dict[tuple[int, int, int, int], str] = {}
        self.missing = missing
        self.problems = some(plan.flaws)
        if not self.problems:
            self._run()
            # Packets that nobody has read are no data.
            for gpu, place in self.packed:
                self.memory[gpu].pop(place, None)
            if not self.problems:
                self.outcome()
            self.ordering.settle()
            self.problems += some(self.accesses.races(self.ordering.strangers))
        self.problems = some(list(missing.values())) + self.problems

    def writer(self, gpu: int, place: Place) -> object | None:
        """The operation whose chunk lies at a place of a GPU."""
        return self.writers.get((gpu, place))

    def _run(self) -> None:
        """Sweep over the threadblocks in their order until none can continue, then go to the next time.

        Who cannot continue sleeps until what it waits for comes: only then may its next try end otherwise.
        """
        blocks = self.plan.blocks
        self._again = [number for number, block in enumerate(blocks) if block.operations]
        now, total = 0, sum(len(block.operations) for block in blocks)
        while len(self.problems) < MOST_PROBLEMS:
            if self._told is not None:
                self._told(sum(block.done for block in blocks), total)
            while self._again:
                self._ready, self._again = sorted(self._again), []
                while self._ready:
                    number = heappop(self._ready)
                    block = blocks[number]
                    while block.done < len(block.operations) and self._step(number, block, now):
                        block.done += 1
            waiting = [block for block in blocks if block.done < len(block.operations)]
            if not waiting:
                return
            if not self._timers:
                for block in waiting[:5]:
                    self.problem(f"{block}: waits forever ({block.operations[block.done].name})")
                return
            now = self._timers[0][0]
            for gpu, letter in self.packets.pop(now, []):
                self._deliver(gpu, letter, len(blocks))
            while self._timers and self._timers[0][0] == now:
                number = heappop(self._timers)[1]
                if number >= 0:
                    self._again.append(number)

    def _sleep(self, number: int, awaited: _Awaited) -> bool:
        """Let a threadblock sleep until `_wake` is told of what it waits for."""
        self._sleepers.setdefault(awaited, []).append(number)
        return False

    def _rest(self, number: int, time: int) -> bool:
        """Let a threadblock sleep until a time."""
        heappush(self._timers, (time, number))
        return False

    def _wake(self, awaited: _Awaited, number: int) -> None:
        """Let those who sleep on something try again."""
        for other in self._sleepers.pop(awaited, ()):
            self._let(other, number)

    def _let(self, other: int, number: int) -> None:
        """Let a threadblock continue: in this sweep if it is after the one that lets it, or in the next."""
        if other > number:
            heappush(self._ready, other)
        else:
            self._again.append(other)

    def _step(self, number: int, block: Block, now: int) -> bool:
        """Run the next operation of a threadblock if it can run now, or note what it waits for."""
        one = block.operations[block.done]
        gpu = block.gpu
        until = self.until.get((gpu, block.number), 0)
        if until > now:
            return self._rest(number, until)
        if one.name in ("wait", "rlxwait"):
            return self._wait(number, block, one, now)
        if one.name == "barrier":
            return self._meet(number, block, one)
        if one.name == "sem_acquire":
            for semaphore in one.semaphores:
                if self.semaphores[gpu, semaphore] < 1:
                    return self._sleep(number, (gpu, semaphore))
            event = self.ordering.alone(block)
            for semaphore in one.semaphores:
                self.semaphores[gpu, semaphore] -= 1
                self.ordering.acquire(block, (gpu, semaphore), event)
        elif one.name == "sem_release":
            event = self.ordering.alone(block)
            for semaphore in one.semaphores:
                self.semaphores[gpu, semaphore] += 1
                self.ordering.release(block, (gpu, semaphore), event)
                self._wake((gpu, semaphore), number)
        elif one.name == "nop":
            self.ordering.meet([block])
        elif one.name in MOVES and not self._move(number, block, one, now):
            return False
        if one.name in SIGNALS:
            event = -1 if one.port else self.ordering.alone(block)
            for peer, channel, kind in one.channels:
                sent = self.ordering.port(block, (peer, channel, kind)) if one.port else event
                key = (gpu, peer, channel, kind)
                self.ordering.release(block, key, sent, one.name in RELAXED)
                letters = self.pending.pop((gpu, peer), [])
                there = max([now, *(letter[0] for letter in letters), self.told.get((gpu, peer), 0)])
                self.told[gpu, peer] = there
                self.signals[key].append((there, letters))
                self._wake(key, number)
        if one.name in ("flush", "pwsf"):
            self.ordering.flush(block, one.channels)
        return True

    def _wait(self, number: int, block: Block, one: Operation, now: int) -> bool:
        """Wait for signals, and take what they tell of."""
        keys = [(peer, block.gpu, channel, kind) for peer, channel, kind in one.channels]
        wanted = {keys[0]: 1} if len(keys) == 1 else Counter(keys)
        for key, count in wanted.items():
            queue = self.signals[key]
            if len(queue) < count:
                return self._sleep(number, key)
            if queue[count - 1][0] > now:
                return self._rest(number, queue[count - 1][0])
        event = self.ordering.alone(block)
        for key, count in wanted.items():
            for _ in range(count):
                self.ordering.acquire(block, key, event, one.name in RELAXED)
                for letter in self.signals[key].popleft()[1]:
                    self._deliver(block.gpu, letter, number)
        return True

    def _meet(self, number: int, block: Block, one: Operation) -> bool:
        """Wait until this many threadblocks have come to a barrier."""
        barrier, count = one.barrier
        here = self.met[block.gpu, barrier]
        if number not in here:
            here.append(number)
        if len(here) != count:
            return False
        # The last one to come lets all others go; each leaves by itself.
        blocks = self.plan.blocks
        self.ordering.meet([blocks[other] for other in here], barrier)
        for other in here:
            if other != number:
                blocks[other].done += 1
                self._let(other, number)
        here.clear()
        return True

    def _deliver(self, gpu: int, letter: _Letter, number: int) -> None:
        """A chunk is there, for all to read from threadblock `number` on."""
        _, at, content, writer, hop, packet = letter
        self.memory[gpu][at] = content
        if packet >= 0:
            self.packed[gpu, at] = packet
        else:
            self.packed.pop((gpu, at), None)
        self.writers[gpu, at] = writer
        self.brought[gpu, at] = hop
        if self._sleepers:
            self._wake((gpu, at), number)

    def _places(self, piece: Piece) -> list[Place]:
        return [self.place(piece.rank, (piece.buffer, piece.index + one)) for one in range(piece.size)]

    def _move(self, number: int, block: Block, one: Operation, now: int) -> bool:
        """Copy or add chunks up, over links where a buffer is another GPU's."""
        adds, waits = MOVES[one.name]
        gpu = block.gpu
        needed = [(piece.rank, gpu) for piece in one.sources]
        needed += [(gpu, piece.rank) for piece in one.targets]
        for link in needed:
            free = 0 if link[0] == link[1] else min(self._lanes(link))
            if free > now:
                return self._rest(number, free)
        for piece in one.sources if waits else ():
            for place in self._places(piece):
                if place not in self.memory[piece.rank]:
                    return self._sleep(number, (piece.rank, place))
        packet = self._note(block, one, waits)
        if not waits:
            self._unpacked(block, one)
        read = [self._read(block, piece, now, adds) for piece in one.sources]
        added: list[Content | None] = []
        for contents in zip(*read, strict=True) if adds else ():
            total = contents[0]
            for other in contents[1:]:
                total = self.sum(block, total, other)
            added.append(total)
        for which, piece in enumerate(one.targets):
            # One source may go to several places.
            content = added if adds else read[min(which, len(read) - 1)]
            self._write(number, block, piece, content, now, packet)
        return True

    def _note(self, block: Block, one: Operation, waits: bool) -> int:
        """Note what an operation reads and writes; the event of the packets that it writes, or -1."""
        gpu, packets = block.gpu, one.name in PACKETS
        places = [(piece.rank, place) for piece in one.sources for place in self._places(piece)]
        known = [self.packed.get(key, -1) if waits and key[0] == gpu else -1 for key in places]
        if packets or waits:
            read, write = self.ordering.packets(block, [event for event in known if event >= 0])
        else:
            read, write = self.ordering.data(block)
        if one.port and one.channels:
            if waits:
                # All threads look for the packets and meet; then the channel takes them.
                for (rank, place), event in zip(places, known, strict=True):
                    self.accesses.note(rank, place, read, proven=event >= 0)
                self.ordering.meet([block])
            for number, piece in enumerate(one.targets):
                taken, put = self.ordering.asked(block, one.channels[min(number, len(one.channels) - 1)])
                for place in self._places(one.sources[min(number, len(one.sources) - 1)]):
                    self.accesses.note(gpu, place, taken)
                for place in self._places(piece):
                    self.accesses.note(piece.rank, place, put._replace(proven=packets))
            return put.start if packets else -1
        for (rank, place), event in zip(places, known, strict=True):
            self.accesses.note(rank, place, read, proven=event >= 0)
        for piece in one.targets:
            for place in self._places(piece):
                packed = packets and (piece.rank != gpu or self._is_packet(one, piece))
                self.accesses.note(piece.rank, place, write._replace(proven=packed))
        return write.start if packets else -1

    def _unpacked(self, block: Block, one: Operation) -> None:
        """Note packets that an operation takes for data."""
        for piece in one.sources:
            for place in self._places(piece):
                if (piece.rank, place) in self.packed:
                    self.problem(f"{block}: chunk {place[1]} of buffer {place[0]} holds packets, not data")

    @staticmethod
    def _is_packet(one: Operation, piece: Piece) -> bool:
        """Whether what an operation writes to its own GPU are packets."""
        return one.name in _LOCAL_PACKETS and piece.buffer == "s"

    def _lanes(self, link: tuple[int, int]) -> list[int]:
        width = 1 if self.links is None else max(self.links[link], 1)
        return self.free.setdefault(link, [0] * width)

    def _carry(
        self, block: Block, link: tuple[int, int], contents: list[Content], now: int, adds: bool
    ) -> list[Hop]:
        """Send chunks over a link, one after the other."""
        if self.links is not None and link not in self.links:
            key = (block.gpu, block.number, *link)
            self.missing.setdefault(key, f"{block}: there is no link from node {link[0]} to node {link[1]}")
        lanes = self._lanes(link)
        lane = min(range(len(lanes)), key=lanes.__getitem__)
        begin = max(now, lanes[lane])
        given = block.operations[block.done].given
        hops = [
            Hop(begin + place, *link, content, adds, given if given < 0 else given + place)
            for place, content in enumerate(contents)
        ]
        lanes[lane] = begin + len(contents)
        self.steps = max(self.steps, lanes[lane])
        self.hops += hops
        return hops

    def _read(self, block: Block, piece: Piece, now: int, adds: bool) -> list[Content | None]:
        found: list[Content | None] = []
        for place in self._places(piece):
            content = self.memory[piece.rank].get(place)
            if content is None:
                whose = "" if piece.rank == block.gpu else f" of gpu {piece.rank}"
                self.problem(f"{block}: chunk {place[1]} of buffer {place[0]}{whose} holds nothing yet")
            found.append(content)
            hop = self.brought.get((piece.rank, place))
            if adds and hop is not None and piece.rank == block.gpu:
                hop.adds = True
        if piece.rank != block.gpu:
            there = [one for one in found if one is not None]
            hops = self._carry(block, (piece.rank, block.gpu), there, now, adds)
            ends = [hop.step + 1 for hop in hops]
            self.until[block.gpu, block.number] = max([*ends, self.until.get((block.gpu, block.number), 0)])
        return found

    def _write(
        self, number: int, block: Block, piece: Piece, contents: list[Content | None], now: int, packet: int
    ) -> None:
        """Write chunks; `packet` is the event of their writer if they are packets, -1 otherwise."""
        places = self._places(piece)
        if piece.rank == block.gpu:
            local = packet >= 0 and self._is_packet(block.operations[block.done], piece)
            for place, content in zip(places, contents, strict=True):
                if content is not None:
                    self.memory[block.gpu][place] = content
                    self.writers[block.gpu, place] = At(block, block.done)
                    self.brought.pop((block.gpu, place), None)
                    if local:
                        self.packed[block.gpu, place] = packet
                    else:
                        self.packed.pop((block.gpu, place), None)
                    if self._sleepers:
                        self._wake((block.gpu, place), number)
            return
        there = [
            (place, content) for place, content in zip(places, contents, strict=True) if content is not None
        ]
        hops = self._carry(block, (block.gpu, piece.rank), [content for _, content in there], now, False)
        letters = [
            (hop.step + 1, place, content, At(block, block.done), hop, packet)
            for hop, (place, content) in zip(hops, there, strict=True)
        ]
        if packet >= 0:
            for letter in letters:
                if letter[0] not in self.packets:
                    heappush(self._timers, (letter[0], -1))
                self.packets[letter[0]].append((piece.rank, letter))
        else:
            self.pending[block.gpu, piece.rank] += letters
