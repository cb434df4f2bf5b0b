"""Replays an MSCCL++ execution plan as soon as possible, with symbolic contents.

What a GPU writes into another one's buffers lies there when it has been over the link, and may be read after
a signal of the writer was waited for; packets may be read as soon as they are there. Threadblocks run their
operations in order and meet at barriers and semaphores.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from flitloom.collectives.contents import MOST_PROBLEMS, Content, Contents, Hop, Place, some
from flitloom.collectives.mscclpp.read import MOVES, PACKETS, SIGNALS, Block, Operation, Piece, Plan

#: A chunk on its way: when it is there, where to, what, who wrote it, and its hop.
_Letter = tuple[int, Place, Content, str, Hop]


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
        missing: dict[tuple[int, int, int, int], str] = {}
        self.missing = missing
        self.problems = some(plan.flaws)
        if not self.problems:
            self._run()
            if not self.problems:
                self.outcome()
        self.problems = some(list(missing.values())) + self.problems

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
            for key, count in wanted.items():
                for _ in range(count):
                    for letter in self.signals[key].popleft()[1]:
                        self._deliver(gpu, letter)
        elif one.name == "barrier":
            return self._meet(block, one)
        elif one.name == "sem_acquire":
            if any(self.semaphores[gpu, number] < 1 for number in one.semaphores):
                return False
            for number in one.semaphores:
                self.semaphores[gpu, number] -= 1
        elif one.name == "sem_release":
            for number in one.semaphores:
                self.semaphores[gpu, number] += 1
        elif one.name in MOVES and not self._move(block, one, now):
            return False
        if one.name in SIGNALS:
            for peer, number, kind in one.channels:
                letters = self.pending.pop((gpu, peer), [])
                there = max([now, *(letter[0] for letter in letters), self.told.get((gpu, peer), 0)])
                self.told[gpu, peer] = there
                self.signals[gpu, peer, number, kind].append((there, letters))
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
            for other in here[:count]:
                if other is not block:
                    other.done += 1
            del here[:count]
        return True

    def _deliver(self, gpu: int, letter: _Letter) -> None:
        _, at, content, writer, hop = letter
        self.memory[gpu][at] = content
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
        read = [self._read(block, piece, now, adds) for piece in one.sources]
        added: list[Content | None] = []
        for contents in zip(*read, strict=True) if adds else ():
            total = contents[0]
            for other in contents[1:]:
                total = self.sum(block, total, other)
            added.append(total)
        for number, piece in enumerate(one.targets):
            self._write(block, piece, added if adds else read[number], now, one.name in PACKETS)
        return True

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
        self, block: Block, piece: Piece, contents: list[Content | None], now: int, packets: bool
    ) -> None:
        places = self._places(piece)
        if piece.rank == block.gpu:
            for place, content in zip(places, contents, strict=True):
                if content is not None:
                    self.memory[block.gpu][place] = content
                    self.writers[block.gpu, place] = str(block)
                    self.brought.pop((block.gpu, place), None)
            return
        there = [
            (place, content) for place, content in zip(places, contents, strict=True) if content is not None
        ]
        hops = self._carry(block, (block.gpu, piece.rank), [content for _, content in there], now, False)
        letters = [
            (hop.step + 1, place, content, str(block), hop)
            for hop, (place, content) in zip(hops, there, strict=True)
        ]
        if packets:
            self.packets[piece.rank] += letters
        else:
            self.pending[block.gpu, piece.rank] += letters
