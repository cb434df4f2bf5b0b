"""When operations of message graphs start and end, against a simulation of events of our own."""

import heapq
import random

import pytest

import flitloom as fl
from flitloom.traces import Operation, goal_text
from sample import sampled


def drawn(seed):
    """Operations of some ranks; every one requires others that stand before it in its rank."""
    draw = random.Random(seed)
    ranks = [[] for _ in range(draw.randint(2, 5))]

    def some(rank):
        known = range(len(ranks[rank]))
        return sorted(draw.sample(known, min(len(known), draw.choice((0, 1, 1, 2)))))

    for tag in range(draw.randint(4, 24)):
        if draw.random() < 0.6:
            rank, cycles = draw.randrange(len(ranks)), draw.choice((0, 1, 5, 40, 300))
            ranks[rank].append(Operation("calc", cycles, requires=some(rank)))
            continue
        a, b = draw.sample(range(len(ranks)), 2)
        size = draw.choice((8, 40))
        ranks[a].append(Operation("send", size, b, tag, requires=some(a)))
        ranks[b].append(Operation("recv", size, a, tag, requires=some(b)))
    return ranks


class Events:
    """Operations of all ranks in the order of time; how long messages take is told by their tags."""

    def __init__(self, ranks, way):
        self.ranks, self.way = ranks, way
        self.at = []
        self.open = {
            (rank, place): len(one.requires) + (one.kind == "recv")
            for rank, operations in enumerate(ranks)
            for place, one in enumerate(operations)
        }
        self.ready = dict.fromkeys(self.open, 0)
        self.sent, self.end = {}, 0
        self.busy = [0] * len(ranks)
        self.waiting = [[] for _ in ranks]

    def run(self):
        for one, count in self.open.items():
            if count == 0:
                self.push(0, 1, one)
        while self.at:
            time, what, one = heapq.heappop(self.at)
            # Before the network takes anything, processors begin what is ready.
            (self.met, self.may_start, self.begin, self.send)[what](time, one)
        return self.sent, self.end

    def push(self, time, what, one):
        heapq.heappush(self.at, (time, what, one))

    def met(self, time, one):
        """One requirement of an operation is met."""
        self.open[one] -= 1
        self.ready[one] = max(self.ready[one], time)
        if self.open[one] == 0:
            self.push(time, 1, one)

    def may_start(self, time, one):
        rank, place = one
        match self.ranks[rank][place].kind:
            case "recv":
                self.complete(time, one)
            case "send":
                self.push(time, 3, one)
            case "calc":
                heapq.heappush(self.waiting[rank], (time, place))
                self.push(max(time, self.busy[rank]), 2, (rank, -1))

    def begin(self, time, one):
        """The processor of a rank takes what became ready first, if it is free."""
        rank = one[0]
        if self.busy[rank] <= time and self.waiting[rank]:
            _, place = heapq.heappop(self.waiting[rank])
            self.busy[rank] = time + self.ranks[rank][place].size
            self.complete(self.busy[rank], (rank, place))
            self.push(self.busy[rank], 2, (rank, -1))

    def send(self, time, one):
        """A network with room takes a message at once."""
        rank, place = one
        message = self.ranks[rank][place]
        self.sent[rank, place] = time
        self.complete(time, one)
        receive = next(
            number
            for number, other in enumerate(self.ranks[message.peer])
            if (other.kind, other.peer, other.tag) == ("recv", rank, message.tag)
        )
        self.push(time + self.way[rank, place], 0, (message.peer, receive))

    def complete(self, time, one):
        self.end = max(self.end, time)
        rank, place = one
        for number, other in enumerate(self.ranks[rank]):
            if place in other.requires:
                self.push(time, 0, (rank, number))


def measured(ranks, router):
    """When every send started, how long its message took, and when all was complete."""
    messages = fl.Messages(goal_text(ranks), flit_bytes=8, packet_payload=4)
    result = fl.simulate(fl.Network(fl.Torus(8), router), messages, packets=True)
    places = [(rank, place) for rank, operations in enumerate(ranks) for place in range(len(operations))]
    started, arrived = {}, {}
    records = result.packets
    for send, start, tail in zip(
        *(records[name].values.tolist() for name in ("slice", "generated", "tail_arrival")), strict=True
    ):
        started[places[send]] = start
        arrived[places[send]] = max(arrived.get(places[send], 0), tail)
    return started, {one: tail + 1 - started[one] for one, tail in arrived.items()}, result.makespan


def test_operations_start_when_events_say():
    compared = 0
    for seed in sampled(range(500), 5):
        ranks = drawn(seed)
        # Buffers of so many flits take every message at once.
        started, way, makespan = measured(ranks, fl.Router(buffer=1024))
        sent, end = Events(ranks, way).run()
        assert (started, makespan) == (sent, end), seed
        compared += len(sent)
    assert compared > 100


def test_a_computation_that_becomes_ready_first_is_done_first():
    # The second computation of rank 0 waits for the first, which ends at 1000; the third for a message that
    # arrives at 20 or so. So the third is done before the second, and its message leaves before 1200.
    ranks = [
        [
            Operation("calc", 1000),
            Operation("calc", 500, requires=[0]),
            Operation("recv", 8, 1, 0),
            Operation("calc", 100, requires=[2]),
            Operation("send", 8, 1, 1, requires=[3]),
        ],
        [Operation("send", 8, 0, 0), Operation("recv", 8, 0, 1)],
    ]
    started, _, makespan = measured(ranks, fl.Router())
    assert (started[0, 4], makespan) == (1100, 1600)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "a: calc 5\nb: calc 5 cpu 1",
            "line 4: b: calc 5 cpu 1; expected the computations of a rank on one cpu",
        ),
        ("send 8b to 1 nic 1\nrecv 8b from 1", "line 4: .* expected the messages of a rank on one nic"),
        ("a: calc 5\nb: calc 5\nb irequires a", "line 5: b irequires a; .* is not simulated"),
    ],
)
def test_what_is_not_simulated_is_refused_by_its_name(lines, said):
    text = f"num_ranks 2\nrank 0 {{\n{lines}\n}}\nrank 1 {{\n}}\n"
    with pytest.raises(fl.SpecError, match=said):
        fl.simulate(fl.Network(fl.Torus(4)), fl.Messages(text))


def test_interlocked_nodes_send_to_themselves():
    packets = fl.Packets([(0, 1, 4, 0), (0, 0, 4, 0), (1, 2, 4, 0)])
    result = fl.simulate(fl.Network(fl.Torus(4)), packets, throttle="interlock")
    assert result.packets_delivered == 3
