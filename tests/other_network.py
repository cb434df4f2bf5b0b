"""A network of its own: a small simulator in plain Python that shares no line with flitloom.

A torus of N x N routers, dimension order, virtual cut-through, channels that rise at the wrap-around links
and in the middle of every ring, packets of one length that sources start at random. Written from the
description of the router in state-propagation-throttling-2015 (5.1) and in docs/router.md; with random
numbers of Python's own.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

#: Ways out of a router, and where its packets end.
EAST, WEST, NORTH, SOUTH, HOME = range(5)
#: Steps along x and y; towards north y rises.
STEPS = {EAST: (1, 0), WEST: (-1, 0), NORTH: (0, 1), SOUTH: (0, -1)}


@dataclass(eq=False)
class Packet:
    born: int
    target: tuple[int, int]
    #: How often it crossed a line at which channels rise.
    crossed: int = 0


@dataclass(eq=False)
class Lane:
    """A queue of flits: packets with how many of their flits are there, and have left."""

    key: tuple
    packets: deque[list] = field(default_factory=deque)
    flits: int = 0

    @property
    def linked(self) -> bool:
        """Whether it is behind a link, where places count."""
        return self.key[1] != HOME


@dataclass(eq=False)
class Output:
    """A channel of a way out: who sends over it, and in which order ways in are asked.

    Flits that move south come in from the north.
    """

    owner: Lane | None = None
    order: list[int] = field(default_factory=lambda: [SOUTH, WEST, NORTH, EAST, HOME])
    under_way: bool = False


class OtherNetwork:
    """The network, cycle by cycle."""

    def __init__(self, side: int, length: int, depth: int = 16, channels: int = 3, seed: int = 0) -> None:
        self.side, self.length, self.depth, self.channels = side, length, depth, channels
        self.random = random.Random(seed)
        self.nodes = [(x, y) for y in range(side) for x in range(side)]
        # Lanes by node, way in and channel; from home there is a lane per way out.
        self.lanes = {
            (node, way, number): Lane((node, way, number))
            for node in self.nodes
            for way in range(5)
            for number in range(5 if way == HOME else channels)
        }
        self.outputs = {
            (node, way, channel): Output()
            for node in self.nodes
            for way in range(5)
            for channel in range(channels)
        }
        self.last = {(node, way): 0 for node in self.nodes for way in range(5)}
        #: Lanes that show a first flit without output, and outputs with an owner.
        self.asking: dict[tuple, Lane] = {}
        self.owned: dict[tuple, set[int]] = {}
        self.cycle = 0
        self.born = self.ejected_flits = 0
        #: Cycle of birth and of the last flit's end, of every packet that has arrived.
        self.arrived: list[tuple[int, int]] = []

    def way(self, node: tuple[int, int], target: tuple[int, int]) -> int:
        for axis, (up, down) in enumerate(((EAST, WEST), (NORTH, SOUTH))):
            ahead = (target[axis] - node[axis]) % self.side
            if ahead:
                # Half way round both ways are as long: the one over the wrap-around link is taken.
                tie_goes_up = 2 * node[axis] >= self.side
                return up if 2 * ahead < self.side or (2 * ahead == self.side and tie_goes_up) else down
        return HOME

    def behind(self, node: tuple[int, int], way: int) -> tuple[int, int]:
        dx, dy = STEPS[way]
        return ((node[0] + dx) % self.side, (node[1] + dy) % self.side)

    def crosses(self, node: tuple[int, int], way: int) -> bool:
        """Whether a hop passes the end or the middle of its ring."""
        place = node[0] if way in (EAST, WEST) else node[1]
        lines = (self.side // 2 - 1, self.side - 1) if way in (EAST, NORTH) else (0, self.side // 2)
        return place in lines

    def send(self, node: tuple[int, int], target: tuple[int, int]) -> None:
        key = (node, HOME, self.way(node, target))
        lane = self.lanes[key]
        lane.packets.append([Packet(self.cycle, target), self.length, 0])
        if len(lane.packets) == 1:
            self.asking[key] = lane
        self.born += 1

    def step(self, rate: float) -> None:
        """A cycle in which every node starts a packet to another one with probability rate / length."""
        for node in self.nodes:
            if self.random.random() < rate / self.length:
                target = node
                while target == node:
                    target = self.random.choice(self.nodes)
                self.send(node, target)
        self.give_outputs()
        moves = [(*place, channel) for place in self.owned if (channel := self.select(*place)) is not None]
        for move in moves:
            self.move(*move)
        self.cycle += 1

    def free(self, node: tuple[int, int], way: int, channel: int) -> int:
        """Places behind a way out."""
        return self.depth - self.lanes[self.behind(node, way), way, channel].flits

    def give_outputs(self) -> None:
        asked: dict[tuple, list[tuple]] = {}
        for lane_key, lane in self.asking.items():
            node, way_in, number = lane_key
            packet = lane.packets[0][0]
            way = self.way(node, packet.target)
            if way == HOME:
                channel = 0 if way_in == HOME else number
            else:
                channel = min(packet.crossed + self.crosses(node, way), self.channels - 1)
            asked.setdefault((node, way, channel), []).append(lane_key)
        for key, askers in asked.items():
            output, (node, way, channel) = self.outputs[key], key
            if output.owner or (way != HOME and self.free(node, way, channel) < self.length):
                continue
            # A lane is named by the way its flits move, and by its channel: the lowest goes first.
            winner = min(askers, key=lambda lane: (output.order.index(lane[1]), lane[2]))
            output.order.remove(winner[1])
            output.order.append(winner[1])
            output.owner = self.asking.pop(winner)
            self.owned.setdefault((node, way), set()).add(channel)

    def select(self, node: tuple[int, int], way: int) -> int | None:
        """The channel of a way out that sends a flit, if any does."""
        last, owned = self.last[node, way], self.owned[node, way]
        first = last + (not self.outputs[node, way, last].under_way)
        for turn in range(self.channels):
            channel = (first + turn) % self.channels
            if channel in owned:
                owner = self.outputs[node, way, channel].owner
                if owner.packets[0][1] and (way == HOME or self.free(node, way, channel) > 0):
                    return channel
        return None

    def move(self, node: tuple[int, int], way: int, channel: int) -> None:
        output = self.outputs[node, way, channel]
        lane, self.last[node, way] = output.owner, channel
        entry = lane.packets[0]
        packet, entry[1], entry[2] = entry[0], entry[1] - 1, entry[2] + 1
        lane.flits -= lane.linked
        first, last = entry[2] == 1, entry[2] == self.length
        output.under_way = not last
        if last:
            lane.packets.popleft()
            output.owner = None
            self.owned[node, way].remove(channel)
            if lane.packets and lane.packets[0][1]:
                self.asking[lane.key] = lane
        if way == HOME:
            self.ejected_flits += 1
            if last:
                self.arrived.append((packet.born, self.cycle))
            return
        there = self.lanes[self.behind(node, way), way, channel]
        if first:
            packet.crossed += self.crosses(node, way)
            there.packets.append([packet, 0, 0])
        there.packets[-1][1] += 1
        there.flits += 1
        if first and len(there.packets) == 1:
            self.asking[there.key] = there
