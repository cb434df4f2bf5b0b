"""What the stored cases are: every feature of the engines by itself, and mixtures drawn at random.

Nothing of flitloom is used here, so that a case is a fact about its file and not about the code.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

Fields = dict[str, Any]

SHAPES: dict[str, Fields] = {
    "ring-8": {"sizes": [8]},
    "line-7": {"kind": "mesh", "sizes": [7]},
    "torus-4x4": {"sizes": [4, 4]},
    "torus-5x3": {"sizes": [5, 3]},
    "mesh-4x4": {"kind": "mesh", "sizes": [4, 4]},
    "cylinder-4x4": {"sizes": [4, 4], "wrap": [True, False]},
    "torus-3x3x3": {"sizes": [3, 3, 3]},
    "torus-2x3x2x2": {"sizes": [2, 3, 2, 2]},
}
#: Channels that dimension order needs on them.
CHANNELS = {"torus-3x3x3": 4, "torus-2x3x2x2": 3}
SCHEMES = ("C00", "C01", "C02", "C03", "C04", "C05", "C06", "C07", "C08", "C09", "packet")
PATTERNS = ("bcmp", "brev", "brot", "shfl", "torn", "trns", "next", "rand", "rpar", "hots")
#: Throttles with all their parameters; beside them `none`.
THROTTLES = {
    "interlock": "interlock",
    "spth": "spth:margin=8",
    "spth-own": "spth:margin=4,watch=own",
    "spth-short": "spth:margin=2,length=1",
    "spth-shared": "spth:margin=3,link=shared",
    "alo-own": "alo:own",
    "alo-any": "alo:any",
    "pace": "pace:interval=9",
    "global": "global:threshold=12",
    "tuned": "global:tuned",
    "pt": "pt",
    "pt-release": "pt:release=9",
    "pt-shared": "pt:link=shared",
    "pt-margin": "pt:margin=1",
    "pt-behind": "pt:behind=0",
    "pt-far": "pt:behind=3",
    "when": "when:free >= 3 and (waited > 20 or idle_outputs * 2 >= outputs)",
    "when-sums": "when:in_flight < nodes or since_granted > 30",
}
#: Those of mixtures, which stay as they were drawn once.
MIXED = [text for text in THROTTLES.values() if not text.startswith(("interlock", "when"))]
TORUS, MESH = SHAPES["torus-4x4"], SHAPES["mesh-4x4"]


def collective(pattern: str = "rand", **fields: Any) -> Fields:
    return {"kind": "collective", "pattern": pattern, "payload": 6, "packets": 3, **fields}


def load(pattern: str = "rand", **fields: Any) -> Fields:
    rate = {} if "profile" in fields else {"rate": 0.4}
    return {"kind": "load", "pattern": pattern, **rate, "length": 5, "cycles": 200, **fields}


def busy(throttle: str, pattern: str = "rand") -> Fields:
    """More than a network takes; in an interlock every node has to receive as many packets as it sends."""
    if throttle == "interlock":
        return collective("bcmp", packets=5)
    return load(pattern, rate=0.9)


def packets(nodes: int, count: int, seed: str, most: int = 9, last: int = 30) -> list[list[int]]:
    """Rows of packets drawn at random, in the order of their starts."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        ends = [draw.randrange(nodes), draw.randrange(nodes)]
        rows.append([*ends, draw.randint(1, most), draw.randint(0, last), draw.randrange(3)])
    return sorted(rows, key=lambda row: row[3])


def case(topology: Fields, traffic: Fields, router: Fields | None = None, **fields: Any) -> Fields:
    made: Fields = {**fields, "topology": topology}
    if router:
        made["router"] = router
    return {**made, "traffic": traffic}


def flow_controls() -> Iterator[tuple[str, Fields]]:
    for flow in ("wormhole", "cut-through", "bubble"):
        for name, shape in SHAPES.items():
            router: Fields = {"flow_control": flow, "buffer": 4 if flow == "wormhole" else 16}
            if flow != "bubble" and name in CHANNELS:
                router["channels"] = CHANNELS[name]
            if flow == "bubble":
                router["channels"] = 1
            yield f"flow-{flow}-{name}", case(shape, collective(interval=9, slices=2), router, seed=11)
    yield (
        "flow-cut-through-latency-3",
        case(TORUS, load(), {"flow_control": "cut-through", "latency": 3, "buffer": 12}),
    )
    yield "flow-wormhole-latency-5", case(TORUS, load(), {"latency": 5, "buffer": 8})


def routers() -> Iterator[tuple[str, Fields]]:
    for scheme in SCHEMES:
        yield (
            f"scheme-{scheme}",
            case(TORUS, collective("shfl", payload=9, packets=4), {"arbitration": scheme}),
        )
    draw = random.Random("schemes")
    mixed = [draw.choice(SCHEMES) for _ in range(16 * 5)]
    yield "scheme-of-every-port", case(TORUS, collective(packets=5), {"arbitration": mixed})
    order = [port for _ in range(16 * 5 * 3) for port in draw.sample(range(5), 5)]
    yield "queue-order-of-every-channel", case(TORUS, collective(packets=5), {"queue_order": order})
    for channels in (1, 2, 5, 8):
        router = {"channels": channels, "buffer": 6}
        yield f"channels-{channels}", case(MESH, collective("brev", packets=4), router)
    for buffer in (1, 2, 7, 8, 9, 64):
        yield f"buffer-{buffer}", case(TORUS, collective("trns", packets=4), {"buffer": buffer})
    for datelines in ("both", "wrap", "passing", "checkerboard"):
        for flow in ("wormhole", "cut-through"):
            router = {"datelines": datelines, "flow_control": flow, "buffer": 12}
            yield f"datelines-{datelines}-{flow}", case({"sizes": [6, 5]}, load(), router)
    for room in (False, True):
        for queues in ("one", "per-direction"):
            router = {"grant_needs_room": room, "processor_queues": queues, "buffer": 8}
            name = f"queues-{queues}" + ("-room" if room else "")
            yield name, case({"sizes": [5, 4]}, load(rate=0.7), router)
    yield (
        "queues-passing",
        case(TORUS, load(), {"processor_queues": "per-direction", "datelines": "passing", "buffer": 8}),
    )
    for preset in ("t15", "s07", "cup-stacking"):
        yield f"preset-{preset}", case({"sizes": [8, 4]}, load("bcmp", length=8), {"preset": preset})
    slices = collective("bcmp", payload=14, slices=2, interval=39)
    yield "preset-cup-stacking-slices", case({"sizes": [16, 16]}, slices, {"preset": "cup-stacking"})
    # In planes, more than a vector of routers.
    for name, shape in {"16x16": [16, 16], "ring-64": [64], "9x7": [9, 7]}.items():
        yield f"planes-{name}", case({"sizes": shape}, collective(payload=14, slices=2, interval=20))
    mesh = {"kind": "mesh", "sizes": [32, 4]}
    yield "planes-mesh-32x4", case(mesh, load(cycles=100), {"arbitration": "C03"})


def registers() -> Iterator[tuple[str, Fields]]:
    def router(**fields: Any) -> Fields:
        return {"variant": "registers", **fields}

    for scheme in ("C00", "C03", "C05", "C09", "packet"):
        yield f"registers-{scheme}", case(TORUS, collective("trns", payload=7), router(arbitration=scheme))
    yield "registers-both", case(TORUS, load(), router(datelines="both"))
    yield "registers-wrap", case(MESH, load(), router(datelines="wrap", buffer=2))
    yield "registers-3d", case(SHAPES["torus-3x3x3"], load(), router(channels=4))
    yield "registers-queues", case(TORUS, load(), router(processor_queues="per-direction"))
    for routing in ("o1turn", "valiant"):
        yield f"registers-{routing}", case(TORUS, load(), router(routing=routing, channels=6))
    for name in ("interlock", "spth", "alo-own", "pace", "global"):
        throttle = THROTTLES[name].replace("margin=8", "margin=1")
        yield f"registers-{name}", case(TORUS, busy(name), router(), throttle=throttle)
    for buffer in (2, 4):
        yield f"registers-pt-{buffer}", case(TORUS, busy("pt"), router(buffer=buffer), throttle="pt")


def routings() -> Iterator[tuple[str, Fields]]:
    shapes = {"torus": {"sizes": [5, 4]}, "mesh": MESH, "torus-3d": SHAPES["torus-3x3x3"]}
    for routing in ("do", "sa", "cl", "o1turn", "valiant", "ma", "ugal"):
        for name, shape in shapes.items():
            router = {"preset": "s07", "routing": routing, "channels": 8}
            yield f"routing-{routing}-{name}", case(shape, load(rate=0.6), router)
    for routing in ("o1turn", "valiant", "ugal"):
        router = {"routing": routing, "channels": 8, "latency": 2}
        yield f"routing-{routing}-wormhole", case(TORUS, collective("shfl", packets=5), router)
        router = {"routing": routing, "channels": 6, "datelines": "wrap", "processor_queues": "per-direction"}
        yield f"routing-{routing}-wrap", case(TORUS, collective("shfl", packets=5), router)


def throttles() -> Iterator[tuple[str, Fields]]:
    for name, throttle in THROTTLES.items():
        yield f"throttle-{name}", case(TORUS, busy(name, "bcmp"), {"preset": "t15"}, throttle=throttle)
    for name in ("interlock", "spth-shared", "alo-any", "tuned", "pt", "pt-shared", "when", "when-sums"):
        yield f"throttle-{name}-mesh", case(MESH, busy(name), {"buffer": 8}, throttle=THROTTLES[name])
        router = {"preset": "s07", "buffer": 10}
        burst = collective("brot", payload=7, packets=6)
        yield f"throttle-{name}-s07", case({"sizes": [8, 4]}, burst, router, throttle=THROTTLES[name])
    for routing in ("sa", "ma", "o1turn", "ugal"):
        for name in ("spth", "alo-own", "pt", "when"):
            router = {"preset": "s07", "routing": routing, "channels": 6}
            throttle = THROTTLES[name]
            yield f"throttle-{name}-{routing}", case(TORUS, load(rate=0.9), router, throttle=throttle)
    for name, throttle in {"alo-own": "alo:useful=own", "spth-own": "spth:watch=own", "pt": "pt"}.items():
        # Packets that are injected right before the wrap stay in channel 0.
        router = {"channels": 4, "buffer": 8, "datelines": "passing", "processor_queues": "per-direction"}
        yield f"throttle-{name}-passing", case(TORUS, busy(name), router, throttle=throttle)


def failures() -> Iterator[tuple[str, Fields]]:
    broken = {"sizes": [4, 4], "failed_nodes": [5], "failed_links": [[0, 1], [10, 11]]}
    yield "failed-unreachable", case(broken, collective("next"))
    rows = [[0, 4, 6, 0], [4, 8, 5, 0], [12, 0, 7, 3], [2, 3, 4, 1], [6, 7, 9, 2], [15, 3, 8, 2]]
    yield "failed-avoided", case(broken, {"kind": "packets", "table": rows})
    mesh = {"kind": "mesh", "sizes": [4, 4], "failed_links": ["12-13"]}
    to = [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 8, 9, 15, 14]
    delays = [draw % 7 for draw in range(0, 80, 5)]
    traffic = {"kind": "collective", "destinations": to, "payload": 6, "delays": delays}
    yield "failed-destinations", case(mesh, traffic)
    routed: Fields = {
        "kind": "packets",
        "table": [[0, 1, 6, 0], [0, 2, 4, 2], [10, 11, 5, 0], [4, 6, 7, 1]],
        "routes": ["-y1 +x1 +y1", "-x2", "-y1 +x1 +y1", "-x2"],
    }
    for flow in ("wormhole", "bubble"):
        router = {"flow_control": flow, "buffer": 24}
        yield f"failed-routed-{flow}", case({**broken, "failed_nodes": [5]}, routed, router)
    # From the mesh of a torus whose every link around has failed.
    around = [[0, 3], [4, 7], [8, 11], [12, 15]]
    yield "failed-all-around", case({"sizes": [4, 4], "failed_links": around}, load("next", cycles=80))


def twists() -> Iterator[tuple[str, Fields]]:
    for sizes in ([4, 8], [2, 2, 4], [3, 6], [4, 4, 8], [2, 4, 4]):
        shape = {"sizes": sizes, "twist": True}
        name = "x".join(map(str, sizes))
        router = {"channels": 6, "flow_control": "cut-through", "buffer": 16}
        yield f"twist-{name}", case(shape, load(cycles=120), router)
    shape = {"sizes": [4, 8], "twist": True}
    yield "twist-collective", case(shape, collective(packets=4), {"channels": 4})
    yield "twist-bubble", case(shape, collective(packets=4), {"flow_control": "bubble", "buffer": 16})
    yield "twist-registers", case(shape, collective(packets=4), {"variant": "registers", "channels": 4})
    yield "twist-alo", case(shape, load(rate=0.9), {"channels": 4, "buffer": 8}, throttle="alo:own")


def loads() -> Iterator[tuple[str, Fields]]:
    ramp = [[0, 0.0], [60, 0.3], [100, 0.3], [100, 0.8], [180, 0.1]]
    for process, full in (("bernoulli", 1.0), ("gap", 0.75)):
        yield f"load-{process}", case(TORUS, load(process=process), seed=5)
        yield f"load-{process}-full", case(MESH, load(process=process, rate=full, length=3, cycles=90))
        yield f"load-{process}-profile", case(TORUS, load(process=process, profile=ramp))
        impulse = {"pattern": "trns", "at": 70, "packets": 3}
        yield f"load-{process}-impulse", case(TORUS, load(process=process, impulse=impulse))
        for outstanding in (1, 3):
            traffic = load(process=process, rate=0.8, outstanding=outstanding)
            yield f"load-{process}-closed-{outstanding}", case(TORUS, traffic, {"buffer": 8})
    yield "load-closed-pt", case(TORUS, load(rate=1.0, outstanding=8), {"preset": "t15"}, throttle="pt")
    changes = [{"pattern": "shfl", "at": 60}, {"pattern": "hots", "at": 130, "hotspot_fraction": 0.4}]
    yield "load-changes", case(TORUS, load("bcmp", changes=changes))
    classes = [{"pattern": "rand", "weight": 3}, {"pattern": "trns"}, {"pattern": "rpar", "weight": 2}]
    traffic = load(classes=classes)
    del traffic["pattern"]
    yield "load-classes", case(TORUS, traffic)
    draw = random.Random("weights")
    weights = [[draw.choice((0, 0, 1, 2, 9)) for _ in range(9)] for _ in range(9)]
    traffic = load(weights=weights)
    del traffic["pattern"]
    yield "load-weights", case({"sizes": [3, 3]}, traffic)
    hot = {"hotspot_fraction": 0.5, "hotspot_target": 2}
    yield "load-hotspot", case(TORUS, load("hots", rate=0.2, **hot))
    yield "load-single-flits", case(TORUS, load(length=1, rate=0.9, cycles=100), {"buffer": 1})
    yield "load-long-packets", case(TORUS, load(length=40, rate=0.5))
    yield "load-stopped", case(TORUS, load(rate=0.8), stop_at=150)
    yield "load-stopped-general", case(TORUS, load(rate=0.8), {"latency": 2, "buffer": 6}, stop_at=150)
    yield "load-seed", case(TORUS, load(), seed=2**63 - 1)


def lists() -> Iterator[tuple[str, Fields]]:
    for pattern in PATTERNS:
        fields = {"delays": [3 * node % 11 for node in range(16)], "slices": 2, "interval": 15}
        yield f"pattern-{pattern}", case(TORUS, collective(pattern, **fields), seed=3)
    for name in ("ring-8", "torus-4x4", "torus-3x3x3"):
        nodes = {"ring-8": 8, "torus-4x4": 16, "torus-3x3x3": 27}[name]
        table = packets(nodes, 3 * nodes, name)
        router = {"channels": CHANNELS.get(name, 3)}
        yield f"packets-{name}", case(SHAPES[name], {"kind": "packets", "table": table}, router)
    table = packets(16, 60, "bubble", most=16)
    router = {"flow_control": "bubble", "buffer": 40, "latency": 2}
    yield "packets-bubble", case(TORUS, {"kind": "packets", "table": table}, router)
    yield (
        "packets-to-themselves",
        case(TORUS, {"kind": "packets", "table": [[node, node, 4, node, 0] for node in range(16)]}),
    )
    routes = [
        "+x1",
        "-x1",
        "+x2",
        "-x3 +x1",
        "+y1 +x1",
        "-y2 -x1",
        "+y1 -y1",
        "-y1 -x1 +y1",
        "+x3",
        "+x1 +y2",
    ]
    rows = []
    for number in range(40):
        x, y = number % 4, number // 4 % 4
        for leg in routes[number % 10].split():
            step = int(leg[2:]) * (1 if leg[0] == "+" else -1)
            x, y = (x + step * (leg[1] == "x")) % 4, (y + step * (leg[1] == "y")) % 4
        rows.append([number % 16, x + 4 * y, 3 + number % 5, number // 2, 0])
    given = {"kind": "packets", "table": rows, "routes": [routes[number % 10] for number in range(40)]}
    yield "routes-given", case(TORUS, given, {"flow_control": "bubble", "buffer": 16})
    entered = {**given, "channels": [number % 3 for number in range(40)]}
    yield "routes-entered", case(TORUS, entered, {"channels": 8})
    draw = random.Random("matrix")
    matrix = [[draw.choice((0, 0, 0, 1, 2)) for _ in range(16)] for _ in range(16)]
    yield "matrix", case(TORUS, {"kind": "matrix", "matrix": matrix, "length": 6, "interval": 4})
    yield "matrix-back-to-back", case(MESH, {"kind": "matrix", "matrix": matrix, "length": 3})


def ends() -> Iterator[tuple[str, Fields]]:
    """Deadlocks, and runs that are not over in time."""
    turn = {"kind": "packets", "table": [[node, (node + 3) % 8, 9, 0, 0] for node in range(8)]}
    for name, router in {
        "wormhole": {"channels": 1, "buffer": 2},
        "cut-through": {"channels": 1, "buffer": 9, "flow_control": "cut-through"},
        "slow": {"channels": 1, "buffer": 2, "latency": 3},
    }.items():
        yield f"deadlock-{name}", case(SHAPES["ring-8"], turn, router)
    yield "deadlock-ring", case({"sizes": [16]}, load(rate=0.9, length=40, cycles=300), {"channels": 1})
    yield (
        "deadlock-load",
        case({"sizes": [9, 2]}, load(rate=0.9, length=9, cycles=400), {"channels": 1, "latency": 2}),
    )
    yield "limit-collective", case(TORUS, collective(packets=9), cycle_limit=40)
    yield "limit-load", case(TORUS, load(rate=0.9), cycle_limit=180)


def tables() -> Iterator[tuple[str, Fields, Fields]]:
    """Cases whose packets follow tables, with what those are made of."""
    whole, mesh = {"sizes": [4, 4]}, {"kind": "mesh", "sizes": [3, 3]}
    failed = {"sizes": [4, 4], "failed_nodes": [6], "failed_links": [[0, 1], [9, 13]]}
    router = {"flow_control": "bubble", "buffer": 24}
    for method in ("balanced", "sssp", "bfs", "coherent", "dor"):
        made = {"method": method}
        yield f"tables-{method}", case(whole, collective(packets=4), router), made
    for method in ("balanced", "sssp"):
        rows = [row for row in packets(16, 60, method) if 6 not in row[:2]]
        yield (
            f"tables-{method}-failed",
            case(failed, {"kind": "packets", "table": rows}, router),
            {"method": method},
        )
    yield "tables-mesh", case(mesh, load(), {"flow_control": "bubble", "buffer": 16}), {"method": "balanced"}
    yield (
        "tables-dateline",
        case(whole, load(), {"channels": 5, "buffer": 8}),
        {"method": "balanced", "rules": "dateline"},
    )


def graphs() -> Iterator[tuple[str, Fields, str]]:
    """Message graphs: topology and router, and a GOAL text."""

    def goal(ranks: int, blocks: list[list[str]]) -> str:
        text = "".join(
            f"rank {rank} {{\n" + "".join(f"{line}\n" for line in block) + "}\n"
            for rank, block in enumerate(blocks)
        )
        return f"num_ranks {ranks}\n{text}"

    def ring(ranks: int, rounds: int, size: int, calc: int) -> str:
        blocks: list[list[str]] = []
        for rank in range(ranks):
            lines, before = [], ""
            for step in range(rounds):
                lines += [
                    f"c{step}: calc {calc + rank % 3}",
                    f"s{step}: send {size}b to {(rank + 1) % ranks} tag {step}",
                ]
                lines += [f"r{step}: recv {size}b from {(rank - 1) % ranks} tag {step}"]
                lines += [f"s{step} requires c{step}"]
                if before:
                    lines += [f"c{step} requires {before}", f"c{step} requires s{step - 1}"]
                before = f"r{step}"
            blocks.append(lines)
        return goal(ranks, blocks)

    def exchange(ranks: int, size: int) -> str:
        blocks = []
        for rank in range(ranks):
            others = [(rank + shift) % ranks for shift in range(1, ranks)]
            lines = [f"s{other}: send {size + 16 * other}b to {other} tag 0" for other in others]
            lines += [f"r{other}: recv {size + 16 * rank}b from {other} tag 0" for other in others]
            blocks.append(lines)
        return goal(ranks, blocks)

    yield "messages-ring", {"topology": {"sizes": [4, 4]}}, ring(16, 4, 300, 5)
    yield "messages-exchange", {"topology": {"sizes": [4, 2]}, "router": {"buffer": 8}}, exchange(8, 100)
    yield "messages-mesh", {"topology": {"kind": "mesh", "sizes": [3, 3]}}, exchange(9, 400)
    cut = {"flow_control": "cut-through", "buffer": 40}
    yield "messages-cut-through", {"topology": {"sizes": [4, 4]}, "router": cut}, ring(16, 3, 900, 40)
    yield (
        "messages-registers",
        {"topology": {"sizes": [4, 4]}, "router": {"variant": "registers"}},
        exchange(16, 33),
    )
    twisted = {"sizes": [4, 8], "twist": True}
    yield "messages-twisted", {"topology": twisted, "router": {"channels": 4}}, ring(32, 2, 200, 3)
    routing = {"preset": "s07", "routing": "sa", "channels": 6, "buffer": 20}
    yield "messages-adaptive", {"topology": {"sizes": [4, 4]}, "router": routing}, exchange(16, 64)
    yield "messages-limit", {"topology": {"sizes": [4, 4]}, "cycle_limit": 60}, exchange(16, 640)


def mixtures(count: int) -> Iterator[tuple[str, Fields]]:
    """Mixtures of features, drawn at random; some of them are refused and drawn again by who asks."""
    for number in range(count):
        draw = random.Random(f"mixture {number}")
        sizes = [draw.randint(2, 5) for _ in range(draw.randint(1, 3))]
        shape: Fields = {"sizes": sizes, "wrap": [draw.random() < 0.6 for _ in sizes]}
        flow = draw.choice(("wormhole", "cut-through", "bubble"))
        queues = draw.choice(("one", "one", "per-direction"))
        router: Fields = {
            "channels": draw.randint(5, 8),
            "buffer": draw.randint(1, 9) if flow == "wormhole" else draw.randint(18, 30),
            "latency": draw.choice((1, 1, 2, 4)),
            "flow_control": flow,
            "datelines": draw.choice(("both", "wrap", *["passing"] * (queues == "one"))),
            "grant_needs_room": flow == "wormhole" and draw.random() < 0.2,
            "processor_queues": queues,
            "arbitration": draw.choice(SCHEMES),
        }
        if router["grant_needs_room"]:
            router["buffer"] = 9
        if flow != "wormhole":
            router["routing"] = draw.choice(("do", "o1turn", "valiant", "ugal", "sa", "ma"))
        length = draw.randint(1, 8)
        traffic = draw.choice(
            (
                collective(
                    draw.choice(("rand", "rpar", "next", "hots")), payload=length, packets=draw.randint(1, 6)
                ),
                load(draw.choice(("rand", "rpar")), rate=draw.choice((0.1, 0.5, 1.0)), length=length),
            )
        )
        throttle = draw.choice(("none", *MIXED))
        yield (
            f"mixture-{number:02}",
            case(shape, traffic, router, seed=draw.getrandbits(63), throttle=throttle),
        )


PLAIN = (flow_controls, routers, registers, routings, throttles, failures, twists, loads, lists, ends)
