"""Traces in GOAL and Chakra: what others write is read, what is written others can read, damage is named."""

import gzip
import io
import json
import struct
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.proto import parse_length_prefixed, serialize_length_prefixed

import flitloom as fl
from flitloom import formats
from flitloom.commands import run
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.traces import (
    Operation,
    goal_binary,
    goal_text,
    parse_goal,
    parse_goal_binary,
    read_chakra,
    write_chakra,
)

TEXT = """num_ranks 2
// two ranks that talk
rank 0 {
l1: calc 100 cpu 1
l2: send 33b to 1 tag 7 nic 2
l2 requires l1
l3: recv 16b from 1 tag 0
l3 irequires l2
}
rank 1 {
/* the other
   one */
a: recv 33b from 0 tag 7
b: send 16b to 0 tag 0 cpu 3
b requires a
}
"""
RANKS = [
    [
        Operation("calc", 100, cpu=1),
        Operation("send", 33, 1, 7, nic=2, requires=[0]),
        Operation("recv", 16, 1, follows=[1]),
    ],
    [Operation("recv", 33, 0, 7), Operation("send", 16, 0, cpu=3, requires=[0])],
]


def by_hand() -> bytes:
    """The same as LogGOPSim's txt2bin lays it out, field by field."""

    def node(waits, kind, peer, size, tag, cpu, nic, ends, first, starts, second):
        return (
            struct.pack("<I", waits) + bytes([kind]) + struct.pack("<IQI", peer, size, tag)
            + bytes([cpu, nic]) + struct.pack("<IIII", ends, first, starts, second)
        )  # fmt: skip

    first = struct.pack("<III", 3, 1, 0)
    first += node(0, 3, 0, 100, 0, 1, 0, 1, 0, 0, 1)
    first += node(1, 1, 1, 33, 7, 0, 2, 0, 1, 1, 1)
    first += node(1, 2, 1, 16, 0, 0, 0, 0, 2, 0, 2)
    first += struct.pack("<II", 1, 2)
    second = struct.pack("<III", 2, 1, 0)
    second += node(0, 2, 0, 33, 7, 0, 0, 1, 0, 0, 1)
    second += node(1, 1, 0, 16, 0, 3, 0, 0, 1, 0, 1)
    second += struct.pack("<I", 1)
    begin = 4 + 2 + 2 * 16
    ends = [begin, begin + len(first), begin + len(first), begin + len(first) + len(second)]
    return struct.pack("<QIBB", 4223, 2, 3, 2) + struct.pack("<QQQQ", *ends) + first + second


def test_goal_text_and_binary(tmp_path: Path) -> None:
    assert parse_goal(TEXT) == RANKS
    assert goal_binary(RANKS) == by_hand()
    assert parse_goal_binary(by_hand()) == RANKS
    assert parse_goal(goal_text(RANKS)) == RANKS
    # The same graph runs in the same time, whichever form it is in; one interface and whole requirements do.
    text, binary = tmp_path / "x.goal", tmp_path / "x.bin"
    simulated = TEXT.replace(" nic 2", "").replace("irequires", "requires")
    text.write_text(simulated, encoding="utf-8")
    binary.write_bytes(goal_binary(parse_goal(simulated)))
    network = fl.Network(fl.Torus(4))
    totals = [simulate_messages(network, MessageGraph.read(file)) for file in (text, binary)]
    assert totals[0] == totals[1]
    # 33 bytes are three flits of 16 bytes, and every message is a packet with a header.
    assert totals[0]["flits_delivered"] == 3 + 1 + 1 + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "is not in the file; it is cut off"),
        (lambda data: data[:12], "cut off in its head"),
        (lambda data: data[:20], "cut off in the table of its 2 ranks"),
        (lambda data: b"x" + data[1:], "is not UTF-8 text"),
        (lambda data: data[:62] + b"\x07" + data[63:], "rank 0, operation 0: type 7"),
        (lambda data: data[:58] + b"\x02" + data[59:], "rank 0, operation 0: waits for 2 operations, 0 name"),
        (lambda data: data[:46] + b"\xff\xff" + data[48:], "rank 0: its part is cut off"),
        (
            lambda data: data[:30] + data[14:30] + data[46:],
            "rank 1: its part, bytes 38 to 175, is in those of",
        ),
        (lambda data: data[:81] + b"\x03" + data[82:], "rank 0: its operations have more dependents than"),
        (
            lambda data: data[:85] + b"\x02" + data[86:],
            "rank 0, operation 0: its dependents are beyond the list",
        ),
    ],
)
def test_binary_goal_that_is_damaged(
    change: object, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(change(by_hand()))
    assert run(["simulate", str(file), "--torus", "4"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_numbers_of_messages_that_cannot_be() -> None:
    network, graph = fl.Network(fl.Torus(4)), MessageGraph.of(RANKS)
    for field, value in (
        ("flit_bytes", 0), ("flit_bytes", 10**30), ("packet_payload", 2**40), ("calc_cycles", -1),
        ("calc_cycles", 10**30), ("cycle_limit", -1), ("threads", 0),
    ):  # fmt: skip
        with pytest.raises(fl.SpecError, match=f"{field}: .* is out of range"):
            simulate_messages(network, graph, **{field: value})
    with pytest.raises(fl.SpecError, match=r"nodes\[1\]: 4 is out of range; it must be 0 to 3"):
        simulate_messages(network, graph, nodes=[0, 4])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("num_ranks 1\nrank 0 {\n", "rank 0: } is missing"),
        ("num_ranks 1\nrank 1 {\n", "line 2"),
        ("num_ranks 1\nrank 0 {\nsend 8 to 0\n}", "line 3: 'send 8 to 0': expected send SIZEb"),
        ("num_ranks 1\nrank 0 {\nsend 8b to 1 tag 0\n}", "line 3: rank 1 does not exist"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na: calc 1\n}", "line 4: label a was given before"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}", "line 4: a requires b: a label"),
    ],
)
def test_goal_texts_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(fl.SpecError, match=message.replace("{", r"\{").replace("}", r"\}")):
        parse_goal(text)


def official() -> dict:
    """Messages of Chakra's et_def.proto (as of version 0.0.4), made by Google's implementation."""
    kinds = [
        "double",
        "float",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "sint32",
        "sint64",
        "fixed32",
        "fixed64",
        "sfixed32",
        "sfixed64",
        "bool",
        "string",
        "bytes",
    ]
    proto = descriptor_pb2.FieldDescriptorProto
    number = {kind: getattr(proto, f"TYPE_{kind.upper()}") for kind in kinds}
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="ChakraProtoMsg", syntax="proto3")

    def message(name: str, *fields: tuple) -> object:
        made = file.message_type.add(name=name)
        for place, field, kind, repeated in fields:
            label = proto.LABEL_REPEATED if repeated else proto.LABEL_OPTIONAL
            one = made.field.add(name=field, number=place, label=label)
            if kind in number:
                one.type = number[kind]
            else:
                one.type = proto.TYPE_MESSAGE
                one.type_name = f".ChakraProtoMsg.{kind}"
        return made

    for kind in kinds:
        message(f"{kind.capitalize()}List", (1, "values", kind, True))
    values = [
        (
            3 + 2 * place + half,
            f"{kind}{'_list' if half else '_val'}",
            f"{kind.capitalize()}List" if half else kind,
        )
        for place, kind in enumerate(kinds)
        for half in (0, 1)
    ]
    attribute = message(
        "AttributeProto",
        (1, "name", "string", False),
        (2, "doc_string", "string", False),
        *((place, name, kind, False) for place, name, kind in values),
    )
    attribute.oneof_decl.add(name="value")
    for field in attribute.field[2:]:
        field.oneof_index = 0
    message("GlobalMetadata", (1, "version", "string", False), (2, "attr", "AttributeProto", True))
    message(
        "IOInfo",
        *((place, name, "string", False) for place, name in enumerate(("values", "shapes", "types"), 1)),
    )
    node = message(
        "Node",
        (1, "id", "uint64", False), (2, "name", "string", False), (3, "type", "int32", False),
        (4, "ctrl_deps", "uint64", True), (5, "data_deps", "uint64", True),
        (6, "start_time_micros", "uint64", False), (7, "duration_micros", "uint64", False),
        (8, "inputs", "IOInfo", False), (9, "outputs", "IOInfo", False), (10, "attr", "AttributeProto", True),
    )  # fmt: skip
    kind = file.enum_type.add(name="NodeType")
    for place, name in enumerate(
        [
            "INVALID_NODE",
            "METADATA_NODE",
            "MEM_LOAD_NODE",
            "MEM_STORE_NODE",
            "COMP_NODE",
            "COMM_SEND_NODE",
            "COMM_RECV_NODE",
            "COMM_COLL_NODE",
        ]
    ):
        kind.value.add(name=name, number=place)
    node.field[2].type, node.field[2].type_name = proto.TYPE_ENUM, ".ChakraProtoMsg.NodeType"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}"))
        for name in ("Node", "GlobalMetadata", "AttributeProto")
    }


OFFICIAL = official()


def trace(*nodes: object, version: str = "0.0.4") -> bytes:
    stream = io.BytesIO()
    for message in (OFFICIAL["GlobalMetadata"](version=version), *nodes):
        serialize_length_prefixed(message, stream)
    return stream.getvalue()


def node(number: int, kind: int, after: tuple = (), *, control: tuple = (), micros: int = 0, **attributes):
    one = OFFICIAL["Node"](id=number, type=kind, data_deps=after, ctrl_deps=control, duration_micros=micros)
    for name, (field, value) in attributes.items():
        one.attr.add(name=name, **{field: value})
    return one


def written(tmp_path: Path, *files: bytes) -> Path:
    for rank, content in enumerate(files):
        (tmp_path / f"t.{rank}.et").write_bytes(content)
    return tmp_path / "t.0.et"


def test_chakra_traces_of_others(tmp_path: Path) -> None:
    # Every kind of attribute, as Chakra's generator writes them.
    rich = node(3, 1)
    for name, value in [
        ("double", 1.5), ("float", 2.5), ("int32", -5), ("int64", -(2**40)), ("uint32", 7), ("uint64", 2**60),
        ("sint32", -9), ("sint64", -(2**50)), ("fixed32", 1), ("fixed64", 2), ("sfixed32", -3),
        ("sfixed64", -4), ("bool", True), ("string", "x"), ("bytes", b"y"),
    ]:  # fmt: skip
        rich.attr.add(name=name, doc_string="d", **{f"{name}_val": value})
        many = rich.attr.add(name=f"{name}s")
        getattr(many, f"{name}_list").values.extend([value, value])
    rich.inputs.shapes = "[[1]]"
    first = trace(
        rich,
        node(10, 4, micros=9, is_cpu_op=("bool_val", False)),
        node(
            11, 5, (10,), comm_dst=("int32_val", 1), comm_size=("uint64_val", 64), comm_tag=("int32_val", 2)
        ),
        node(12, 6, control=(11,), comm_src=("int32_val", 1), comm_size=("int64_val", 32)),
    )
    second = trace(
        node(1, 6, comm_src=("int32_val", 0), comm_size=("int64_val", 64), comm_tag=("int32_val", 2)),
        node(2, 5, (1,), comm_dst=("int32_val", 0), comm_size=("int64_val", 32)),
    )
    file = written(tmp_path, first, gzip.compress(second))
    from flitloom.traces.chakra import read_nodes

    metadata, nodes = read_nodes(file)
    assert metadata["version"] == "0.0.4"
    for one in rich.attr:
        which = one.WhichOneof("value")
        value = getattr(one, which)
        assert nodes[0]["attr"][one.name] == (list(value.values) if which.endswith("_list") else value)
    assert read_chakra(file) == [
        [
            Operation("calc", 0),
            Operation("calc", 9),
            Operation("send", 64, 1, 2, requires=[1]),
            Operation("recv", 32, 1, requires=[2]),
        ],
        [Operation("recv", 64, 0, 2), Operation("send", 32, 0, requires=[0])],
    ]


def test_what_is_written_is_chakra(tmp_path: Path) -> None:
    ranks = [[Operation("calc", 5), Operation("send", 2**40, 1, 2**32 - 1, requires=[0])], []]
    ranks[1] = [Operation("recv", 2**40, 0, 2**32 - 1)]
    write_chakra(ranks, tmp_path / "x.et")
    with (tmp_path / "x.0.et").open("rb") as stream:
        assert parse_length_prefixed(OFFICIAL["GlobalMetadata"], stream).version == "0.0.4"
        compute = parse_length_prefixed(OFFICIAL["Node"], stream)
        send = parse_length_prefixed(OFFICIAL["Node"], stream)
        assert parse_length_prefixed(OFFICIAL["Node"], stream) is None
    assert (compute.id, compute.type, compute.duration_micros) == (0, 4, 5)
    assert (send.id, send.type, list(send.data_deps)) == (1, 5, [0])
    # The types that Chakra's feeder asks for.
    table = {one.name: (one.WhichOneof("value"), getattr(one, one.WhichOneof("value"))) for one in send.attr}
    assert table == {
        "is_cpu_op": ("bool_val", False), "comm_size": ("int64_val", 2**40), "comm_src": ("int32_val", 0),
        "comm_dst": ("int32_val", 1), "comm_tag": ("int32_val", -1),
    }  # fmt: skip
    assert read_chakra(tmp_path / "x.1.et") == ranks


@pytest.mark.parametrize(
    ("kind", "size", "messages"),
    [
        # (number of messages, bytes of all) for eight ranks; sizes are those of a rank's input.
        (0, 80, (2 * 7 * 8, 2 * 7 * 8 * 10)),
        (2, 80, (7 * 8, 7 * 8 * 80)),
        (6, 80, (7 * 8, 7 * 8 * 10)),
        (7, 81, (7 * 8, 7 * 8 * 11)),
        (5, 80, (7, 7 * 80)),
        (4, 80, (7, 7 * 10)),
        (1, 80, (7, 7 * 80)),
        (9, 0, (14, 14)),
    ],
)
def test_collectives_of_eight_ranks(kind: int, size: int, messages: tuple[int, int], tmp_path: Path) -> None:
    both = (
        node(0, 4, micros=3),
        node(1, 7, (0,), comm_type=("int64_val", kind), comm_size=("int64_val", size)),
        node(2, 4, (1,), micros=4),
    )
    file = written(tmp_path, *[trace(*both)] * 8)
    ranks = read_chakra(file)
    sends = [one for operations in ranks for one in operations if one.kind == "send"]
    assert (len(sends), sum(one.size for one in sends)) == messages
    for operations in ranks:
        ends = {other for one in operations[1:-1] for other in one.requires}
        assert operations[-1] == Operation(
            "calc", 4, requires=[n for n in range(1, len(operations) - 1) if n not in ends]
        )
        assert all(one.requires for one in operations[1:])
    totals = simulate_messages(fl.Network(fl.Torus(4, 2)), MessageGraph.of(ranks))
    assert totals["packets_delivered"] >= messages[0]


def test_groups_and_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def coll(number, group, kind=2, after=()):
        return node(
            number, 7, after,
            comm_type=("int64_val", kind), comm_size=("int64_val", 16), pg_name=("string_val", group),
        )  # fmt: skip

    def simulate(*files: bytes) -> str:
        for old in tmp_path.glob("*.et"):
            old.unlink()
        written(tmp_path, *files)
        assert run(["simulate", str(tmp_path / "t.0.et"), "--torus", "4"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        return err

    rows, columns = (
        trace(coll(0, "a"), coll(1, "c", after=(0,))),
        trace(coll(0, "a"), coll(1, "d", after=(0,))),
    )
    others = trace(coll(0, "b"), coll(1, "c", after=(0,))), trace(coll(0, "b"), coll(1, "d", after=(0,)))
    ranks = read_chakra(written(tmp_path, rows, columns, *others))
    assert [one.peer for one in ranks[0] if one.kind == "send"] == [1, 2]
    assert [one.peer for one in ranks[3] if one.kind == "send"] == [2, 1]
    good = trace(coll(0, "a"))
    assert "collective 0 of rank 0 is all-gather" in simulate(good, trace(coll(0, "a", 6)))
    assert "2 collectives of group 'a', rank 0 has 1" in simulate(good, trace(coll(0, "a"), coll(1, "a")))
    assert "the file is cut off" in simulate(good, good[:-1])
    assert "the file is empty" in simulate(b"")
    assert "node 4: waits for node 9, which does not exist" in simulate(trace(node(4, 4, (9,))))
    assert "node 4: waits for itself" in simulate(trace(node(4, 4, (4,))))
    assert "node 4: its number is given twice" in simulate(trace(node(4, 4), node(4, 4)))
    assert "node 4: attribute comm_size: is missing" in simulate(trace(node(4, 5, comm_dst=("int32_val", 0))))
    assert "node 4: attribute comm_dst: 7 is no" in simulate(trace(node(4, 5, comm_dst=("int32_val", 7))))
    for old in tmp_path.glob("*.et"):
        old.unlink()
    (tmp_path / "t.1.et").write_bytes(good)
    assert run(["simulate", str(tmp_path / "t.1.et"), "--torus", "4"]) == 2
    assert "t.0.et: does not exist" in capsys.readouterr().err


def test_plans_become_traces_and_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("plan.json", "plan.et", "again.json", "p.goal", "p.bin", "q.goal", "c.et", "q.et")
    plan, et, again, goal, binary, other, coll, graph = (str(tmp_path / name) for name in names)
    for operation in ("all-reduce", "all-to-all", "broadcast"):
        assert run(["collective", operation, "--mesh", "3x3", "--chunks", "2", "-o", plan]) == 0
        assert run(["convert", plan, et, "--chunk-bytes", "256"]) == 0
        assert run(["convert", et, again]) == 0
        first = fl.collectives.read(plan).expanded()
        rows = {"sums": sorted(first.sums), "moves": sorted(first.moves)}
        assert fl.collectives.read(again).model_dump() == first.model_dump() | rows
        assert formats.read_plan(tmp_path / "plan.3.et", None).steps == first.steps
    # All forms of the same graph.
    assert run(["convert", plan, goal, "--chunk-bytes", "256"]) == 0
    assert run(["convert", goal, binary]) == 0
    assert run(["convert", binary, other]) == 0
    assert Path(goal).read_text() == Path(other).read_text()
    assert run(["convert", binary, graph]) == 0
    assert read_chakra(graph) == read_chakra(et) == parse_goal(Path(goal).read_text())
    capsys.readouterr()
    cycles = set()
    for file in (goal, binary, et, graph):
        assert run(["simulate", file, "--mesh", "3x3", "--json"]) == 0
        cycles.add(json.loads(capsys.readouterr().out)["cycles"])
    assert len(cycles) == 1
    # Half as many flits of twice the bytes; what has no flits and no computing takes no such options.
    assert run(["simulate", goal, "--mesh", "3x3", "--flit-bytes", "32", "--calc-cycles", "7", "--json"]) == 0
    halved = json.loads(capsys.readouterr().out)
    assert halved["flits_delivered"] == halved["packets_delivered"] * (256 // 32 + 1)
    assert run(["simulate", plan, "--flit-bytes", "32"]) == 2
    assert run(["check", et, "--json"]) == 0
    assert run(["check", graph]) == 2
    capsys.readouterr()
    assert run(["convert", plan, coll, "--as-collective"]) == 0
    assert sum(one.kind == "send" for rank in read_chakra(coll) for one in rank) == 8
    # What collectives become has tags of its own, from 2^31: they go into GOAL and back.
    cycles = set()
    for source, target in ((coll, "coll.goal"), ("coll.goal", "coll.bin"), ("coll.bin", "again.et")):
        paths = [str(tmp_path / Path(name).name) for name in (source, target)]
        assert run(["convert", *paths]) == 0
    for file in (coll, "coll.goal", "coll.bin", "again.0.et"):
        assert run(["simulate", str(tmp_path / Path(file).name), "--mesh", "3x3", "--json"]) == 0
        cycles.add(json.loads(capsys.readouterr().out)["cycles"])
    assert len(cycles) == 1
    for wrong in (
        [plan, goal, "--as-collective"],
        [goal, plan],
        [graph, plan],
        [et, str(tmp_path / "x.txt")],
    ):
        assert run(["convert", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
