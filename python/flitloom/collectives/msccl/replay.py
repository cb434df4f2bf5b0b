"""Replays an MSCCL algorithm as soon as possible, with symbolic contents.

Messages of a connection (from, to, channel) arrive in order through a FIFO with a few slots; a threadblock
runs its steps in order. Whether the outcome is the same in every other run is judged by what happens before
what: steps of a threadblock in their order, a step after the one it depends on, a message after its sending,
and a sending after the message whose slot it takes has been received.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Any

from flitloom.collectives.contents import MOST_PROBLEMS, Content, Contents, Hop, some
from flitloom.collectives.msccl.read import TYPES, Algorithm, Block, Step
from flitloom.collectives.order import Order
from flitloom.collectives.races import Access, Accesses

#: Messages a connection holds that the receiver has not taken yet.
SLOTS = 8


class Replay(Contents):
    """Runs an algorithm as soon as possible: a link carries a chunk per step, all else takes no time.

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
        self, algorithm: Algorithm, links: Counter[tuple[int, int]] | None, slots: int = SLOTS
    ) -> None:
        super().__init__(algorithm.buffers)
        self.algorithm = algorithm
        self.links = links
        self.slots = slots
        self.hops: list[Hop] = []
        self.steps = 0
        self.order = Order()
        self.accesses = Accesses(self.order)
        self._chains = {(block.gpu, block.number): self.order.chain(block.gpu) for block in algorithm.blocks}
        #: Events of all steps of a threadblock, and of all receives of a connection.
        self._events: dict[tuple[int, int], list[int]] = {key: [] for key in self._chains}
        self._received: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self._sent: dict[tuple[int, int, int], int] = defaultdict(int)
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

    def _run(self) -> None:
        fifos: dict[tuple[int, int, int], deque[tuple[int, list[Content], list[Hop], int]]] = defaultdict(
            deque
        )
        free: dict[tuple[int, int], list[int]] = {}
        waiting: list[Block] = [block for block in self.algorithm.blocks if block.steps]
        now = 0
        while waiting and len(self.problems) < MOST_PROBLEMS:
            progress = False
            moved = True
            while moved:
                moved = False
                for block in waiting:
                    while block.done < len(block.steps) and self._step(block, now, fifos, free):
                        moved = progress = True
            waiting = [block for block in waiting if block.done < len(block.steps)]
            pending = [arrival for queue in fifos.values() for arrival, *_ in queue if arrival > now]
            busy = [time for times in free.values() for time in times if time > now]
            if waiting and not progress and not pending and not busy:
                for block in waiting[:5]:
                    kind = block.steps[block.done].kind
                    self.problem(f"{block}: waits for ever ({kind}: {self._awaited(block, fifos)})")
                return
            now = min([*pending, *busy], default=now + 1)
        for (start, end, channel), queue in fifos.items():
            if queue and not waiting:
                self.problem(
                    f"gpu {end}: {len(queue)} messages from gpu {start} over channel {channel} are never "
                    "received"
                )

    def _awaited(self, block: Block, fifos: Any) -> str:
        """What a threadblock waits for."""
        step = block.steps[block.done]
        receives, sends, _, _ = TYPES[step.kind]
        if step.depends is not None:
            known = {(one.gpu, one.number): one for one in self.algorithm.blocks}
            other = known[block.gpu, step.depends[0]]
            if other.done <= step.depends[1]:
                return f"step {step.depends[1]} of threadblock {other.number}"
        if receives and not fifos[block.receive, block.gpu, block.channel]:
            return f"a message from gpu {block.receive} over channel {block.channel}"
        return f"a slot to gpu {block.send} over channel {block.channel}" if sends else "a link"

    def _step(self, block: Block, now: int, fifos: Any, free: Any) -> bool:
        """Run the next step of a threadblock if it can run now."""
        step = block.steps[block.done]
        receives, sends, reads, writes = TYPES[step.kind]
        before: list[int] = []
        if step.depends is not None:
            finished = self._events[block.gpu, step.depends[0]]
            if len(finished) <= step.depends[1]:
                return False
            before.append(finished[step.depends[1]])
        arriving = fifos[block.receive, block.gpu, block.channel]
        if receives and (not arriving or arriving[0][0] > now):
            return False
        link = (block.gpu, block.send)
        leaving = fifos[block.gpu, block.send, block.channel]
        if sends:
            lanes = free.setdefault(link, [0] * (1 if self.links is None else max(self.links[link], 1)))
            lane = min(range(len(lanes)), key=lanes.__getitem__)
            if lanes[lane] > now or len(leaving) >= self.slots:
                return False
        content: list[Content | None] = [None] * step.count
        channel = (block.gpu, block.send, block.channel)
        if sends and not receives and self._sent[channel] >= self.slots:
            before.append(self._received[channel][self._sent[channel] - self.slots])
        if receives:
            _, received, hops, sending = arriving.popleft()
            before.append(sending)
            for hop in hops:
                hop.adds = step.kind.startswith("rr")
            if len(received) != step.count:
                self.problem(f"{block}: receives {step.count} chunks, {len(received)} were sent")
            content[: len(received)] = received[: step.count]
        event = self.order.add(self._chains[block.gpu, block.number], before)
        self._note(block, step, event, reads, writes)
        if receives:
            self._received[block.receive, block.gpu, block.channel].append(event)
        if reads:
            content = [self._read(block, step, place, one) for place, one in enumerate(content)]
        memory = self.memory[block.gpu]
        if writes:
            for place, one in enumerate(content):
                at = self.place(block.gpu, (step.target[0], step.target[1] + place))
                self.writers[block.gpu, at] = str(block)
                if one is None:
                    memory.pop(at, None)
                else:
                    memory[at] = one
        if sends:
            lanes[lane] = now + step.count
            whole = [(0, 0) if one is None else one for one in content]
            given = block.times[block.done] if block.done < len(block.times) else -1
            sent = [
                Hop(now + place, block.gpu, block.send, one, False, given if given < 0 else given + place)
                for place, one in enumerate(whole)
            ]
            leaving.append((now + step.count, whole, sent, event))
            self._sent[channel] += 1
            self.steps = max(self.steps, now + step.count)
            self.hops += sent
        self._events[block.gpu, block.number].append(event)
        block.done += 1
        return True

    def _note(self, block: Block, step: Step, event: int, reads: bool, writes: bool) -> None:
        """Note which places of its GPU a step reads and writes."""
        chain, name = self._chains[block.gpu, block.number], str(block)
        for used, (buffer, offset), writing in (
            (reads, step.source, False),
            (step.kind == "re", step.target, False),
            (writes, step.target, True),
        ):
            if used:
                access = Access(event, [event], event, chain, name, writing)
                for place in range(offset, offset + step.count):
                    self.accesses.note(block.gpu, self.place(block.gpu, (buffer, place)), access)

    def _read(self, block: Block, step: Step, place: int, arrived: Content | None) -> Content | None:
        """A chunk of the source buffer, added to what has arrived (for `re`: to the destination)."""
        memory = self.memory[block.gpu]
        at = self.place(block.gpu, (step.source[0], step.source[1] + place))
        own = memory.get(at)
        if own is None:
            self.problem(f"{block}: chunk {at[1]} of buffer {at[0]} holds nothing yet")
        if step.kind == "re":
            target = self.place(block.gpu, (step.target[0], step.target[1] + place))
            arrived = memory.get(target)
            if arrived is None:
                self.problem(f"{block}: chunk {target[1]} of buffer {target[0]} holds nothing yet")
        return self.sum(block, own, arrived)
