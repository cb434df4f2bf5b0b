"""Replays an MSCCL++ execution plan as soon as possible, with symbolic contents.

What a GPU writes into another one's buffers lies there when it has been over the link, and may be read after
a signal of the writer was waited for; packets may be read as soon as they are there. Threadblocks run their
operations in order and meet at barriers and semaphores. Whether the outcome is the same in every other run is
judged by what happens before what (`ordering`).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from flitloom.collectives.contents import MOST_PROBLEMS, Content, Contents, Hop, Place, some
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

#: A chunk on its way: when it is there, where to, what, who wrote it, its hop, and the event of its packet.
_Letter = tuple[int, Place, Content, str, Hop, int]
#: Operations that write packets into the scratch buffer of their own GPU.
_LOCAL_PACKETS = ("cpkt", "recpkt", "recspkt")


class Replay(Contents):
    """Runs a plan as soon as possible: a link carries a chunk per step, all else takes no time.

    Attributes
    ----------
    problems : list of str
        What is wrong, each with GPU, threadblock and operation where there is one.
    hops : list of Hop
        Every chunk over every link.
    steps : int
        Link steps until the last chunk has arrived.
    """

    def __init__(self, plan: Plan, links: Counter[tuple[int, int]] | None) -> None:
        super().__init__(plan.buffers)
        self.plan, self.links = plan, links
        self.hops: list[Hop] = []
        self.steps = 0
        #: By (writer, reader): what was written and not signalled yet; packets are in `packets`.
        self.pending: dict[tuple[int, int], list[_Letter]] = defaultdict(list)
        self.packets: dict[int, list[_Letter]] = defaultdict(list)
        #: By (writer, reader, number, type): when a signal is there, and what it tells of.
        self.signals: dict[tuple[int, int, int, str], deque[tuple[int, list[_Letter]]]] = defaultdict(deque)
        self.semaphores = dict(plan.semaphores)
        self.free: dict[tuple[int, int], list[int]] = {}
        self.met: dict[tuple[int, int], list[Block]] = defaultdict(list)
        self.told: dict[tuple[int, int], int] = {}
        #: The hop that brought what lies at a place of a GPU, and until when threadblocks read from others.
        self.brought: dict[tuple[int, Place], Hop] = {}
        self.until: dict[tuple[int, int], int] = {}
        self.ordering = Ordering(plan.blocks, plan.semaphores)
        self.accesses = Accesses(self.ordering.order)
        #: The event of the writer of a packet that lies at a place of a GPU.
        self.packed: dict[tuple[int, Place], int] = {}
        self.writers: dict[tuple[int, Place], str] = {}
        missing: dict[tuple[int, int, int, int], str] = {}
        self.missing = missing
        self.problems = some(plan.flaws)
        if not self.problems:
            self._run()
            if not self.problems:
                self.outcome()
            self.ordering.settle()
            self.problems += some(self.ordering.mixed() + self.accesses.races())
        self.problems = some(list(missing.values())) + self.problems

    def writer(self, gpu: int, place: Place) -> object | None:
        """The operation whose chunk lies at a place of a GPU."""
        return self.writers.get((gpu, place))

    def _run(self) -> None:
        waiting = [block for block in self.plan.blocks if block.operations]
        now = 0
        while waiting and len(self.problems) < MOST_PROBLEMS:
            progress, moved = False, True
            while moved:
                moved = False
                for block in waiting:
                    while block.done < len(block.operations) and self._step(block, now):
                        block.done += 1
                        moved = progress = True
            waiting = [block for block in waiting if block.done < len(block.operations)]
            times = [letter[0] for letters in self.packets.values() for letter in letters if letter[0] > now]
            times += [time for queue in self.signals.values() for time, _ in queue if time > now]
            times += [time for lanes in self.free.values() for time in lanes if time > now]
            times += [time for time in self.until.values() if time > now]
            if waiting and not progress and not times:
                for block in waiting[:5]:
                    self.problem(f"{block}: waits for ever ({block.operations[block.done].name})")
                return
            now = min(times, default=now + 1)

    def _step(self, block: Block, now: int) -> bool:
        """Run the next operation of a threadblock if it can run now."""
        one = block.operations[block.done]
        gpu = block.gpu
        if self.until.get((gpu, block.number), 0) > now:
            return False
        if one.name in ("wait", "rlxwait"):
            wanted = Counter((peer, gpu, number, kind) for peer, number, kind in one.channels)
            for key, count in wanted.items():
                queue = self.signals[key]
                if len(queue) < count or queue[count - 1][0] > now:
                    return False
            event = self.ordering.alone(block)
            for key, count in wanted.items():
                for _ in range(count):
                    self.ordering.acquire(block, key, event, one.name in RELAXED)
                    for letter in self.signals[key].popleft()[1]:
                        self._deliver(gpu, letter)
        elif one.name == "barrier":
            return self._meet(block, one)
        elif one.name == "sem_acquire":
            if any(self.semaphores[gpu, number] < 1 for number in one.semaphores):
                return False
            event = self.ordering.alone(block)
            for number in one.semaphores:
                self.semaphores[gpu, number] -= 1
                self.ordering.acquire(block, (gpu, number), event)
        elif one.name == "sem_release":
            event = self.ordering.alone(block)
            for number in one.semaphores:
                self.semaphores[gpu, number] += 1
                self.ordering.release(block, (gpu, number), event)
        elif one.name == "nop":
            self.ordering.meet([block])
        elif one.name in MOVES and not self._move(block, one, now):
            return False
        if one.name in SIGNALS:
            event = -1 if one.port else self.ordering.alone(block)
            for peer, number, kind in one.channels:
                sent = self.ordering.port(block, (peer, number, kind)) if one.port else event
                self.ordering.release(block, (gpu, peer, number, kind), sent, one.name in RELAXED)
                letters = self.pending.pop((gpu, peer), [])
                there = max([now, *(letter[0] for letter in letters), self.told.get((gpu, peer), 0)])
                self.told[gpu, peer] = there
                self.signals[gpu, peer, number, kind].append((there, letters))
        if one.name in ("flush", "pwsf"):
            self.ordering.flush(block, one.channels)
        return True

    def _meet(self, block: Block, one: Operation) -> bool:
        """Wait until so many threadblocks have come to a barrier."""
        number, count = one.barrier
        here = self.met[block.gpu, number]
        if block not in here:
            here.append(block)
        if len(here) < count:
            return False
        # The last one to come lets all others go; each leaves by itself.
        place = here.index(block)
        if place < count:
            self.ordering.meet(here[:count], number)
            for other in here[:count]:
                if other is not block:
                    other.done += 1
            del here[:count]
        return True

    def _deliver(self, gpu: int, letter: _Letter) -> None:
        _, at, content, writer, hop, packet = letter
        self.memory[gpu][at] = content
        if packet >= 0:
            self.packed[gpu, at] = packet
        else:
            self.packed.pop((gpu, at), None)
        self.writers[gpu, at] = writer
        self.brought[gpu, at] = hop

    def _arrived(self, gpu: int, now: int) -> None:
        """Packets are there without a signal."""
        letters = self.packets.pop(gpu, [])
        left = [letter for letter in letters if letter[0] > now]
        for letter in letters:
            if letter[0] <= now:
                self._deliver(gpu, letter)
        if left:
            self.packets[gpu] = left

    def _places(self, piece: Piece) -> list[Place]:
        return [self.place(piece.rank, (piece.buffer, piece.index + one)) for one in range(piece.size)]

    def _move(self, block: Block, one: Operation, now: int) -> bool:
        """Copy or add chunks up, over links where a buffer is another GPU's."""
        adds, waits = MOVES[one.name]
        gpu = block.gpu
        self._arrived(gpu, now)
        needed = Counter((piece.rank, gpu) for piece in one.sources if piece.rank != gpu)
        needed.update((gpu, piece.rank) for piece in one.targets if piece.rank != gpu)
        if any(min(self._lanes(link)) > now for link in needed):
            return False
        if waits and any(
            place not in self.memory[piece.rank] for piece in one.sources for place in self._places(piece)
        ):
            return False
        packet = self._note(block, one, waits)
        read = [self._read(block, piece, now, adds) for piece in one.sources]
        added: list[Content | None] = []
        for contents in zip(*read, strict=True) if adds else ():
            total = contents[0]
            for other in contents[1:]:
                total = self.sum(block, total, other)
            added.append(total)
        for number, piece in enumerate(one.targets):
            # One source may go to several places.
            content = added if adds else read[min(number, len(read) - 1)]
            self._write(block, piece, content, now, packet)
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
        self, block: Block, piece: Piece, contents: list[Content | None], now: int, packet: int
    ) -> None:
        """Write chunks; `packet` is the event of their writer if they are packets, -1 otherwise."""
        places = self._places(piece)
        if piece.rank == block.gpu:
            local = packet >= 0 and self._is_packet(block.operations[block.done], piece)
            for place, content in zip(places, contents, strict=True):
                if content is not None:
                    self.memory[block.gpu][place] = content
                    self.writers[block.gpu, place] = str(block)
                    self.brought.pop((block.gpu, place), None)
                    if local:
                        self.packed[block.gpu, place] = packet
                    else:
                        self.packed.pop((block.gpu, place), None)
            return
        there = [
            (place, content) for place, content in zip(places, contents, strict=True) if content is not None
        ]
        hops = self._carry(block, (block.gpu, piece.rank), [content for _, content in there], now, False)
        letters = [
            (hop.step + 1, place, content, str(block), hop, packet)
            for hop, (place, content) in zip(hops, there, strict=True)
        ]
        if packet >= 0:
            self.packets[piece.rank] += letters
        else:
            self.pending[block.gpu, piece.rank] += letters
