"""Plans of GPUs run in random orders, thread by thread; and what orders the steps of MSCCL XML.

Nothing here is shared with the check of the product.
"""

import json
import random
import xml.etree.ElementTree as ElementTree
from collections import defaultdict

import networkx


def steps_of(text):
    """Threadblocks of an MSCCL XML text: gpu, number, send, receive, channel, steps."""
    return [
        (int(gpu.get("id")), int(block.get("id")), int(block.get("send")), int(block.get("recv")),
         int(block.get("chan")), [step.attrib for step in block])
        for gpu in ElementTree.fromstring(text).iter("gpu") for block in gpu.iter("tb")
    ]  # fmt: skip


def races_of(text):
    """Pairs of steps that touch the same chunk, one of them writing, with no path between them."""
    graph, ends, touched = networkx.DiGraph(), defaultdict(list), defaultdict(list)
    for gpu, number, send, receive, channel, steps in steps_of(text):
        for place, step in enumerate(steps):
            node, kind = (gpu, number, place), step["type"]
            graph.add_node(node)
            if place:
                graph.add_edge((gpu, number, place - 1), node)
            if int(step["depid"]) >= 0:
                graph.add_edge((gpu, int(step["depid"]), int(step["deps"])), node)
            if kind == "s":
                ends["out", gpu, send, channel].append(node)
            if kind in ("r", "rrc"):
                ends["in", receive, gpu, channel].append(node)
            count = range(int(step["cnt"]))
            if kind in ("s", "rrc", "cpy"):
                for one in count:
                    touched[gpu, step["srcbuf"], int(step["srcoff"]) + one].append((node, False))
            if kind in ("r", "rrc", "cpy"):
                for one in count:
                    touched[gpu, step["dstbuf"], int(step["dstoff"]) + one].append((node, True))
    for (side, *key), nodes in list(ends.items()):
        if side == "out":
            receives = ends["in", *key]
            graph.add_edges_from(zip(nodes, receives, strict=False))
            # A connection holds eight messages.
            graph.add_edges_from(zip(receives, nodes[8:], strict=False))
    after = {node: networkx.descendants(graph, node) for node in graph}
    return [
        (a, b)
        for listed in touched.values()
        for place, (a, writes) in enumerate(listed)
        for b, also in listed[:place]
        if (writes or also) and a != b and a not in after[b] and b not in after[a]
    ]


def wanted(collective, gpus, inputs):
    """What every output holds at the end: chunk to the set of (gpu, chunk) that are added up in it."""
    if collective == "allgather":
        whole = {owner * inputs + c: {(owner, c)} for owner in range(gpus) for c in range(inputs)}
    else:
        whole = {c: {(gpu, c) for gpu in range(gpus)} for c in range(inputs)}
    return [whole] * gpus


def right_once(text, dice):
    """Whether a run of an MSCCL XML text in a random order ends, with the right outputs."""
    root = ElementTree.fromstring(text)
    inputs = int(root.find("gpu").get("i_chunks"))
    blocks, done, fifos = steps_of(text), defaultdict(int), defaultdict(list)
    memory = {(gpu, "i", c): {(gpu, c)} for gpu in range(int(root.get("ngpus"))) for c in range(inputs)}
    left = list(blocks)
    while left:
        dice.shuffle(left)
        for block in left:
            gpu, number, send, receive, channel, steps = block
            if done[gpu, number] == len(steps):
                left.remove(block)
                break
            step = steps[done[gpu, number]]
            arriving = fifos[receive, gpu, channel]
            waits = int(step["depid"]) >= 0 and done[gpu, int(step["depid"])] <= int(step["deps"])
            if waits or (step["type"] in ("r", "rrc") and not arriving):
                continue
            if step["type"] == "s" and len(fifos[gpu, send, channel]) > 7:
                continue
            value = arriving.pop(0) if step["type"] in ("r", "rrc") else [set()] * int(step["cnt"])
            for one in range(int(step["cnt"])):
                here = set(value[one])
                if step["type"] != "r":
                    here |= memory.get((gpu, step["srcbuf"], int(step["srcoff"]) + one), set())
                if step["type"] == "s":
                    fifos[gpu, send, channel].append([here])
                else:
                    memory[gpu, step["dstbuf"], int(step["dstoff"]) + one] = here
            done[gpu, number] += 1
            break
        else:
            return False
    goal = wanted(root.get("coll"), int(root.get("ngpus")), inputs)
    return all(
        memory.get((gpu, "o", c)) == value for gpu, outs in enumerate(goal) for c, value in outs.items()
    )


class Threads:
    """An execution plan of MSCCL++, two threads a threadblock, each with half of every chunk."""

    def __init__(self, text):
        self.data = json.loads(text)
        self.blocks = [(gpu, block) for gpu in self.data["gpus"] for block in gpu["threadblocks"]]

    def right_once(self, dice):
        """Whether a run in a random order ends, with the right outputs."""
        data = self.data
        inputs = data["gpus"][0]["input_chunks"]
        memory = {
            (gpu["id"], "i", c, t): {(gpu["id"], c)}
            for gpu in data["gpus"] for c in range(inputs) for t in range(2)
        }  # fmt: skip
        place, signals, semaphores, come = defaultdict(int), defaultdict(int), defaultdict(int), {}
        passed = set()
        threads = [(number, t) for number in range(len(self.blocks)) for t in range(2)]
        rank = {thread: dice.random() for thread in threads}
        while True:
            for thread in sorted(threads, key=rank.get):
                if self._advance(thread, memory, place, signals, semaphores, come, passed):
                    break
            else:
                break
            if dice.random() < 0.03:
                rank[dice.choice(threads)] = dice.random()
        if any(place[number, t] < len(self.blocks[number][1]["ops"]) for number, t in threads):
            return False
        goal = wanted(data["collective"], len(data["gpus"]), inputs)
        return all(
            memory.get((gpu, "o", c, t)) == value
            for gpu, outs in enumerate(goal) for c, value in outs.items() for t in range(2)
        )  # fmt: skip

    def _advance(self, thread, memory, place, signals, semaphores, come, passed):
        number, t = thread
        gpu, block = self.blocks[number]
        if place[thread] == len(block["ops"]):
            return False
        one, me = block["ops"][place[thread]], gpu["id"]
        name = one["name"]
        if name in ("nop", "barrier"):
            # All threads that meet here, and how many are needed.
            key = ("nop", number) if name == "nop" else (me, one["barrier_id"])
            turn, here = come.get(key, (0, set()))
            if (key, thread, place[thread]) in passed:
                place[thread] += 1
                return True
            if thread in here:
                return False
            here = here | {thread}
            come[key] = turn, here
            if len(here) == (2 if name == "nop" else 2 * one["num_threadblocks"]):
                come[key] = turn + 1, set()
                passed.update((key, other, place[other]) for other in here)
            return True
        if name in ("signal", "wait", "sem_release", "sem_acquire"):
            if t == 0 and name == "signal":
                signals[me, self._peer(gpu, block)] += 1
            if t == 0 and name == "wait":
                if not signals[self._peer(gpu, block), me]:
                    return False
                signals[self._peer(gpu, block), me] -= 1
            if t == 0 and name == "sem_release":
                semaphores[me, one["semaphore_ids"][0]] += 1
            if t == 0 and name == "sem_acquire":
                if not semaphores[me, one["semaphore_ids"][0]]:
                    return False
                semaphores[me, one["semaphore_ids"][0]] -= 1
        else:
            sources = one["src_buff"]
            target = one["dst_buff"][0]
            for chunk in range(target["size"]):
                parts = [memory.get((me, s["type"], s["index"] + chunk, t), set()) for s in sources]
                where = (me, target.get("type"))
                if "buffer_id" in target:
                    buffer = block["remote_buffer_refs"][0]["remote_buffer_ids"][target["buffer_id"]]
                    where = (gpu["remote_buffers"][buffer]["rank"], gpu["remote_buffers"][buffer]["type"])
                memory[(*where, target["index"] + chunk, t)] = set().union(*parts)
        place[thread] += 1
        return True

    @staticmethod
    def _peer(gpu, block):
        return gpu["channels"][0]["connected_to"][block["channels"][0]["channel_ids"][0]]


def ever_wrong(run, runs):
    """Whether one of several random runs is not right."""
    return not all(run(random.Random(seed)) for seed in range(runs))
