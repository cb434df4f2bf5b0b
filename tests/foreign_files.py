"""Files in the forms of other programs, laid out here as those programs do."""

from collections import defaultdict


class Msccl:
    """An MSCCL XML text, step by step."""

    def __init__(self, coll, gpus, inputs, outputs, scratch=0, inplace=False):
        self.head = (coll, gpus, inplace)
        self.sizes = (inputs, outputs, scratch)
        self.blocks = [[] for _ in range(gpus)]

    def block(self, gpu, send=-1, receive=-1, channel=0):
        self.blocks[gpu].append((send, receive, channel, []))
        return len(self.blocks[gpu]) - 1

    def step(self, gpu, block, kind, source=("i", -1), target=("o", -1), count=1, after=(-1, -1), has=0):
        steps = self.blocks[gpu][block][3]
        steps.append((kind, source, target, 0 if kind == "nop" else count, after, has))
        return len(steps) - 1

    def text(self):
        coll, gpus, inplace = self.head
        inputs, outputs, scratch = self.sizes
        lines = [
            f'<algo name="x" proto="LL" nchannels="1" nchunksperloop="{max(inputs, outputs)}" ngpus="{gpus}" '
            f'coll="{coll}" inplace="{int(inplace)}" outofplace="{int(not inplace)}" minBytes="0" '
            'maxBytes="0">'
        ]
        for gpu, blocks in enumerate(self.blocks):
            lines.append(f'<gpu id="{gpu}" i_chunks="{inputs}" o_chunks="{outputs}" s_chunks="{scratch}">')
            for number, (send, receive, channel, steps) in enumerate(blocks):
                lines.append(f'<tb id="{number}" send="{send}" recv="{receive}" chan="{channel}">')
                lines += [
                    f'<step s="{place}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1]}" '
                    f'dstbuf="{target[0]}" dstoff="{target[1]}" cnt="{count}" depid="{after[0]}" '
                    f'deps="{after[1]}" hasdep="{has}"/>'
                    for place, (kind, source, target, count, after, has) in enumerate(steps)
                ]
                lines.append("</tb>")
            lines.append("</gpu>")
        return "\n".join([*lines, "</algo>"])


def ring_allreduce(gpus, channels=1):
    """A ring, a channel a threadblock: a sum goes round once, and the whole once more."""
    made = Msccl("allreduce", gpus, gpus * channels, gpus * channels)
    for gpu in range(gpus):
        for channel in range(channels):
            block = made.block(gpu, (gpu + 1) % gpus, (gpu - 1) % gpus, channel)
            for turn in range(2 * gpus - 1):
                chunk = channel * gpus + (gpu - turn) % gpus
                kind = (["s"] + ["rrs"] * (gpus - 2) + ["rrcs"] + ["rcs"] * (gpus - 2) + ["r"])[turn]
                made.step(gpu, block, kind, ("i", chunk), ("o", chunk))
    return made.text()


def tree_allreduce(gpus):
    """Up a binary tree and down again, in place, as ForestColl and the trees of NCCL do."""
    made = Msccl("allreduce", gpus, gpus, 0, inplace=True)
    for gpu in range(gpus):
        parent, children = (gpu - 1) // 2, [kid for kid in (2 * gpu + 1, 2 * gpu + 2) if kid < gpus]
        last = (-1, -1)
        for kid in children:
            block = made.block(gpu, receive=kid, channel=0)
            place = made.step(gpu, block, "rrc", ("i", 0), ("i", 0), gpus, last, 1)
            last = (block, place)
        if gpu:
            made.step(gpu, made.block(gpu, send=parent), "s", ("i", 0), ("i", 0), gpus, last)
            block = made.block(gpu, receive=parent, channel=1)
            last = (block, made.step(gpu, block, "r", ("i", 0), ("i", 0), gpus, has=1))
        for kid in children:
            made.step(gpu, made.block(gpu, send=kid, channel=1), "s", ("i", 0), ("i", 0), gpus, last)
    return made.text()


def forestcoll_allreduce(gpus):
    """The same with a channel of its own for every node and its parent, and sums per child."""
    made = Msccl("allreduce", gpus, 0, gpus, inplace=True)
    for gpu in range(gpus):
        parent, children = (gpu - 1) // 2, [kid for kid in (2 * gpu + 1, 2 * gpu + 2) if kid < gpus]
        main, others = (children[0], children[1:]) if children else (-1, [])
        # Every node has a channel of its own towards its parent.
        last = (-1, -1)
        for kid in others:
            block = made.block(gpu, receive=kid, channel=kid)
            last = (block, made.step(gpu, block, "rrc", ("o", 0), ("o", 0), gpus, last, 1))
        many = int(len(children) > 1)
        if gpu == 0:
            block = made.block(gpu, main, main, main)
            last = (block, made.step(gpu, block, "rrcs", ("o", 0), ("o", 0), gpus, last, many))
        else:
            # What goes up comes out of the main child's connection, whose channel is the child's.
            block = made.block(gpu, receive=main, channel=main) if children else -1
            if children:
                last = (block, made.step(gpu, block, "rrc", ("o", 0), ("o", 0), gpus, last, 1))
            made.step(gpu, made.block(gpu, send=parent, channel=gpu), "s", ("o", 0), ("o", 0), gpus, last)
            block = made.block(gpu, receive=parent, channel=gpu)
            last = (block, made.step(gpu, block, "r", ("o", 0), ("o", 0), gpus, has=int(bool(children))))
            if children:
                down = made.block(gpu, send=main, channel=main)
                made.step(gpu, down, "s", ("o", 0), ("o", 0), gpus, last)
        for kid in others:
            down = made.block(gpu, send=kid, channel=kid)
            made.step(gpu, down, "s", ("o", 0), ("o", 0), gpus, last)
    return made.text()


def chain_allreduce(gpus):
    """A path as ForestColl writes it: sums go up by rrs, the root turns them by rrcs, they go down by rcs."""
    made = Msccl("allreduce", gpus, 0, 1, inplace=True)
    for gpu in range(gpus):
        up, down = gpu - 1, gpu + 1 if gpu + 1 < gpus else -1
        if gpu == 0:
            made.step(gpu, made.block(gpu, down, down), "rrcs", ("o", 0), ("o", 0))
            continue
        middle = down >= 0
        made.step(gpu, made.block(gpu, up, down), "rrs" if middle else "s", ("o", 0), ("o", 0))
        made.step(gpu, made.block(gpu, down, up), "rcs" if middle else "r", ("o", 0), ("o", 0))
    return made.text()


def all_pairs_allreduce(gpus):
    """Everybody sends everything to everybody and adds it up behind nops, as production algorithms do."""
    made = Msccl("allreduce", gpus, gpus, 0, gpus * (gpus - 1), inplace=True)
    for gpu in range(gpus):
        others = [other for other in range(gpus) if other != gpu]
        received = []
        for place, other in enumerate(others):
            block = made.block(gpu, other, other)
            made.step(gpu, block, "s", ("i", 0), ("s", 0), gpus, has=1)
            made.step(gpu, block, "r", ("i", 0), ("s", place * gpus), gpus, has=1)
            received.append(block)
        block = made.block(gpu)
        waits = [(one, place) for one in received for place in (0, 1)]
        for after in waits[:-1]:
            made.step(gpu, block, "nop", after=after)
        for place in range(len(others)):
            after = waits[-1] if place == 0 else (-1, -1)
            made.step(gpu, block, "re", ("s", place * gpus), ("i", 0), gpus, after)
    return made.text()


def teccl_all_gather(moves):
    """A schedule of TE-CCL: epoch, start, end, source and chunk of every flow."""
    demands = defaultdict(lambda: defaultdict(dict))
    for epoch, _, end, source, chunk in moves:
        demands[f"GPU {end}"][f"GPU {source}"][f"Chunk {chunk}"] = (epoch + 1) * 1e-9
    return {
        "1-Epoch_Duration": 1e-09,
        "2-Expected_Epoch_Duration": 1e-09,
        "3-Epochs_Required": 1 + max(move[0] for move in moves),
        "4-Collective_Finish_Time": 1e-6,
        "5-Algo_Bandwidth": 1.0,
        "6-Demand_Met": demands,
        "7-Flows": [
            f"Chunk {chunk} from {source} traveled over {start}->{end} in epoch {epoch}"
            for epoch, start, end, source, chunk in moves
        ],
        "8-Chunk paths": {},
        "Solver_Time": 1.5,
    }


def teccl_all_to_all(moves, nodes):
    """Its schedule of an exchange: epoch, start, end, source, destination and chunk of every flow."""
    made = teccl_all_gather([move[:5] for move in moves])
    del made["6-Demand_Met"]
    # Chunk c of a source is for node c mod N.
    made["7-Flows"] = [
        f"Chunk {goal + chunk * nodes} from {source} traveled over {start}->{end} with volume 1.0 "
        f"in epoch {epoch}"
        for epoch, start, end, source, goal, chunk in moves
    ]
    made["8-Chunk paths"] = {
        f"Demand at {goal} for chunk {goal + chunk * nodes} from {source} met by epoch {epoch}": []
        for epoch, _, end, source, goal, chunk in moves
        if end == goal
    }
    return made


def forestcoll_trees(edges, name, trees):
    """Spanning trees as ForestColl prints them; `edges` per root in the order of a search in breadth."""
    lines = [f'<Algo nchunkspernode="{trees}">']
    for root, sends in edges.items():
        for index in range(trees):
            lines.append(f'  <tree root="{name(root)}" index="{index}" nchunks="1" height="4">')
            lines += [
                f'    <send src="{name(a)}" dst="{name(b)}" path="{name(a)},{name(b)}"/>' for a, b in sends
            ]
            lines.append("  </tree>")
    return "\n".join([*lines, "</Algo>"]) + "\n"
