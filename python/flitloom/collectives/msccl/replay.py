"""Replays an MSCCL algorithm as soon as possible, with symbolic contents.

Messages of a connection (from, to, channel) arrive in order through a FIFO with a few slots; a threadblock
runs its steps in order. Whether the outcome is the same in every other run is judged by what happens before
what: steps of a threadblock in their order, a step after the one it depends on, a message after its sending,
and a sending after the message whose slot it takes has been received.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from heapq import heappop, heappush

from flitloom.collectives.contents import MOST_PROBLEMS, At, Content, Contents, Hop, Place, some
from flitloom.collectives.msccl.read import TYPES, Algorithm, Block
from flitloom.collectives.order import Order
from flitloom.collectives.races import Access, Accesses
from flitloom.ground.numerals import counted
from flitloom.ground.reading import Progress

#: Messages a connection holds that the receiver has not taken yet.
SLOTS = 8


class _Connection:
    """The FIFO from one GPU to another over a channel, and who sleeps until it changes."""

    __slots__ = ("letters", "received", "receivers", "senders", "sent")

    def __init__(self) -> None:
        #: When they are there, what they bring, their hops, and the event of their sending.
        self.letters: deque[tuple[int, list[Content], list[Hop], int]] = deque()
        #: Events of all receives, and the number of all sends.
        self.received: list[int] = []
        self.sent = 0
        self.receivers: list[int] = []
        self.senders: list[int] = []


class _Thread:
    """A threadblock in a replay."""

    __slots__ = ("arriving", "block", "chain", "events", "lanes", "leaving", "sleepers")

    def __init__(
        self, block: Block, chain: int, arriving: _Connection, leaving: _Connection, lanes: list[int]
    ) -> None:
        self.block = block
        self.chain = chain
        self.arriving = arriving
        self.leaving = leaving
        self.lanes = lanes
        #: Events of its steps, and who sleeps until it has done one.
        self.events: list[int] = []
        self.sleepers: dict[int, list[int]] = {}


class Replay(Contents):
    """Runs an algorithm as soon as possible: a link transfers a chunk per step, all else takes no time.

    Attributes
    ----------
    problems : list of str
        What is wrong, each with GPU, threadblock and step where there is one.
    hops : list of Hop
        Every chunk over every link.
    steps : int
        Link steps until the last chunk has arrived.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        links: Counter[tuple[int, int]] | None,
        slots: int = SLOTS,
        told: Progress | None = None,
    ) -> None:
        super().__init__(algorithm.buffers)
        self._told = told
        self.algorithm = algorithm
        self.links = links
        self.slots = slots
        self.hops: list[Hop] = []
        self.steps = 0
        self.order = Order()
        self.accesses = Accesses(self.order)
        self._connections: defaultdict[tuple[int, int, int], _Connection] = defaultdict(_Connection)
        #: Per link until when each of its lanes is taken.
        self._lanes: dict[tuple[int, int], list[int]] = {}
        self._threads = [self._thread(block) for block in algorithm.blocks]
        self._named = {(one.block.gpu, one.block.number): one for one in self._threads}
        #: Threadblocks that may go on now, in this sweep and in the next one, or at a time.
        self._ready: list[int] = []
        self._again: list[int] = []
        self._timers: list[tuple[int, int]] = []
        self.problems = some(algorithm.flaws)
        missing = some(self._missing_links())
        if not self.problems:
            self._run()
            if not self.problems:
                self.outcome()
            self.problems += some(self.accesses.races())
        self.problems = missing + self.problems

    def _missing_links(self) -> list[str]:
        """Per threadblock that sends over a link that does not exist, its first such step."""
        if self.links is None:
            return []
        found = []
        for block in self.algorithm.blocks:
            if block.send < 0 or (block.gpu, block.send) in self.links:
                continue
            sends = [place for place, step in enumerate(block.steps) if TYPES[step.kind][1]]
            if sends:
                found.append(
                    f"{block.at(sends[0])}: there is no link from node {block.gpu} to node {block.send}"
                )
        return found

    def writer(self, gpu: int, place: Place) -> object | None:
        """The step that wrote last to a place of a GPU."""
        return self.accesses.writer(gpu, place)

    def _thread(self, block: Block) -> _Thread:
        link = (block.gpu, block.send)
        width = 1 if self.links is None else max(self.links[link], 1)
        return _Thread(
            block,
            self.order.chain(block.gpu),
            self._connections[block.receive, block.gpu, block.channel],
            self._connections[block.gpu, block.send, block.channel],
            self._lanes.setdefault(link, [0] * width),
        )

    def _run(self) -> None:
        """Sweep over the threadblocks in their order until none can continue, then go to the next time.

        Who cannot continue sleeps until what it waits for comes: only then may its next try end otherwise.
        """
        self._again = [number for number, one in enumerate(self._threads) if one.block.steps]
        left, now = len(self._again), 0
        total = sum(len(one.block.steps) for one in self._threads)
        while left and len(self.problems) < MOST_PROBLEMS:
            if self._told is not None:
                self._told(sum(one.block.done for one in self._threads), total)
            while self._again:
                self._ready, self._again = sorted(self._again), []
                while self._ready:
                    number = heappop(self._ready)
                    block = self._threads[number].block
                    while block.done < len(block.steps) and self._step(number, now):
                        pass
                    left -= block.done == len(block.steps)
            if left and not self._timers:
                waiting = [one for one in self._threads if one.block.done < len(one.block.steps)]
                for one in waiting[:5]:
                    kind = one.block.steps[one.block.done].kind
                    self.problem(f"{one.block}: waits forever ({kind}: {self._awaited(one)})")
                return
            if left:
                now = self._timers[0][0]
            while self._timers and self._timers[0][0] == now:
                self._again.append(heappop(self._timers)[1])
        if not left:
            for (start, end, channel), connection in self._connections.items():
                if connection.letters:
                    left = len(connection.letters)
                    self.problem(
                        f"gpu {end}: {counted(left, 'message')} from gpu {start} over channel "
                        f"{channel} {'is' if left == 1 else 'are'} never received"
                    )

    def _wake(self, sleepers: list[int], number: int) -> None:
        """Let sleepers try again: those behind a threadblock in this sweep, the others in the next one."""
        for other in sleepers:
            if other > number:
                heappush(self._ready, other)
            else:
                self._again.append(other)
        sleepers.clear()

    def _awaited(self, thread: _Thread) -> str:
        """What a threadblock waits for."""
        block = thread.block
        step = block.steps[block.done]
        receives, sends, _, _ = TYPES[step.kind]
        if step.depends is not None:
            other = self._named[block.gpu, step.depends[0]].block
            if other.done <= step.depends[1]:
                return f"step {step.depends[1]} of threadblock {other.number}"
        if receives and not thread.arriving.letters:
            return f"a message from gpu {block.receive} over channel {block.channel}"
        return f"a slot to gpu {block.send} over channel {block.channel}" if sends else "a link"

    def _step(self, number: int, now: int) -> bool:
        """Run the next step of a threadblock, or note what it waits for."""
        thread = self._threads[number]
        block, arriving, leaving = thread.block, thread.arriving, thread.leaving
        step = block.steps[block.done]
        receives, sends, reads, writes = TYPES[step.kind]
        before: list[int] = []
        if step.depends is not None:
            other = self._named[block.gpu, step.depends[0]]
            if len(other.events) <= step.depends[1]:
                other.sleepers.setdefault(step.depends[1], []).append(number)
                return False
            before.append(other.events[step.depends[1]])
        if receives:
            if not arriving.letters:
                arriving.receivers.append(number)
                return False
            if arriving.letters[0][0] > now:
                heappush(self._timers, (arriving.letters[0][0], number))
                return False
        if sends:
            free = min(thread.lanes)
            if free > now:
                heappush(self._timers, (free, number))
                return False
            if len(leaving.letters) >= self.slots:
                leaving.senders.append(number)
                return False
        content: list[Content | None] = [None] * step.count
        if sends and not receives and leaving.sent >= self.slots:
            before.append(leaving.received[leaving.sent - self.slots])
        if receives:
            _, received, hops, sending = arriving.letters.popleft()
            self._wake(arriving.senders, number)
            before.append(sending)
            for hop in hops:
                hop.adds = step.kind.startswith("rr")
            if len(received) != step.count:
                self.problem(f"{block}: receives {counted(step.count, 'chunk')}, {len(received)} were sent")
            content[: len(received)] = received[: step.count]
        event = self.order.add(thread.chain, before)
        name = At(block, block.done)
        access = Access(event, [event], event, thread.chain, name, writes=False)
        source = self._places(block.gpu, step.source, step.count) if reads else []
        target = self._places(block.gpu, step.target, step.count) if writes else []
        for place in (*source, *(target if step.kind == "re" else ())):
            self.accesses.note(block.gpu, place, access)
        if receives:
            arriving.received.append(event)
        if reads:
            content = [
                self._read(
                    block, place, self._held(block, target[one]) if step.kind == "re" else content[one]
                )
                for one, place in enumerate(source)
            ]
        if writes:
            memory, access = self.memory[block.gpu], access._replace(writes=True)
            for place, one in zip(target, content, strict=True):
                self.accesses.note(block.gpu, place, access)
                if one is None:
                    memory.pop(place, None)
                else:
                    memory[place] = one
        if sends:
            self._send(number, now, content, event)
        if thread.sleepers:
            self._wake(thread.sleepers.pop(block.done, []), number)
        thread.events.append(event)
        block.done += 1
        return True

    def _send(self, number: int, now: int, content: list[Content | None], event: int) -> None:
        """Put what a step sends into its link, in the lane that is free first."""
        thread = self._threads[number]
        block, leaving = thread.block, thread.leaving
        thread.lanes[thread.lanes.index(min(thread.lanes))] = there = now + len(content)
        whole = [(0, 0) if one is None else one for one in content]
        given = block.times[block.done] if block.done < len(block.times) else -1
        sent = [
            Hop(now + place, block.gpu, block.send, one, False, given if given < 0 else given + place)
            for place, one in enumerate(whole)
        ]
        leaving.letters.append((there, whole, sent, event))
        leaving.sent += 1
        self._wake(leaving.receivers, number)
        self.steps = max(self.steps, there)
        self.hops += sent

    def _places(self, gpu: int, first: Place, count: int) -> list[Place]:
        """The memory behind chunks of a buffer."""
        if count == 1:
            return [self.place(gpu, first)]
        return [self.place(gpu, (first[0], first[1] + one)) for one in range(count)]

    def _held(self, block: Block, place: Place) -> Content | None:
        """What a place holds, which should be something."""
        content = self.memory[block.gpu].get(place)
        if content is None:
            self.problem(f"{block}: chunk {place[1]} of buffer {place[0]} holds nothing yet")
        return content

    def _read(self, block: Block, place: Place, arrived: Content | None) -> Content | None:
        """A chunk of the source buffer, added to what has arrived (for `re`: to the destination)."""
        return self.sum(block, self._held(block, place), arrived)
