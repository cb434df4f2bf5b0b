"""Every limit on what is read and made, in one place; ``python -m flitloom.ground.limits`` prints them all.

Sizes are compared with these before anything is expanded. What keeps to them needs less than 4 GB.
"""

from __future__ import annotations

from pathlib import Path

from flitloom import errors
from flitloom._core import LIMITS

_MIB = 1 << 20

#: Bytes of a spec or campaign (TOML).
SPEC_BYTES = 4 * _MIB
#: Bytes of JSON that is read as a whole; larger plans and tables are read line by line.
JSON_BYTES = 64 * _MIB
#: Bytes of a plan.
PLAN_BYTES = 512 * _MIB
#: Bytes of a plan of a collective operation.
COLLECTIVE_BYTES = 512 * _MIB
#: Bytes of a plan of a collective operation, or of a trace, in a third-party format.
FOREIGN_BYTES = 128 * _MIB
#: Bytes of a file of routing tables.
TABLE_BYTES = 4096 * _MIB
#: Bytes of an array in an .npz file, decompressed.
ARRAY_BYTES = 257 * _MIB
#: Bytes of a CSV file with a number per node, or with a list of packets.
COLUMN_BYTES = 64 * _MIB
#: Bytes of a CSV file with a traffic matrix.
MATRIX_BYTES = 512 * _MIB
#: Values of a table that is drawn, in rows and columns.
TABLE_VALUES = 1 << 24
#: Bytes of a file of node lists.
NODES_BYTES = 16 * _MIB
#: Bytes of a description of a fabric.
FABRIC_BYTES = 256 * _MIB
#: Switches and hosts of a fabric, and its cables.
FABRIC_PARTS = 1 << 20
#: Bytes of tables of a fabric: forwarding, service levels or lanes.
SUBNET_BYTES = 4096 * _MIB
#: Elements of a description in XML.
XML_ELEMENTS = 1 << 22
#: Bytes of a GOAL text.
GOAL_BYTES = 64 * _MIB
#: Bytes of a value in the store of a campaign.
STORE_BYTES = 64 * _MIB
#: Bytes of a saved simulation.
STATE_BYTES = 1024 * _MIB
#: Bytes of a result that is read again.
RESULT_BYTES = 4096 * _MIB
#: Bytes of a line in a file that is read line by line.
LINE_BYTES = 2 * _MIB

#: Lists and tables of fields inside each other.
DEPTH = 32
#: Digits of a whole number in CSV files, fractions and node lists.
DIGITS = 18
#: Entries of a list in a spec.
ENTRIES = LIMITS["nodes"]
#: Packets that are listed, or planned.
LISTED_PACKETS = 1 << 20
#: Hops of all given routes of packets.
LISTED_HOPS = 1 << 25
#: Rows of a traffic matrix in a spec.
MATRIX_ROWS = 4096
#: Packets of a traffic matrix.
MATRIX_PACKETS = 1 << 23
#: Nodes of tables whose routes are listed: in JSON, CSV and forwarding tables.
LISTED_NODES = 4096
#: Nodes on all routes of such tables.
TABLE_HOPS = 1 << 28
#: Searches of a campaign.
SEARCHES = 100_000
#: Cells of a link-time record, one byte each.
LINK_TIME_CELLS = LIMITS["link_time_cells"]
#: Packets whose times are recorded.
RECORDED_PACKETS = 1 << 22

#: Problems that a message lists; the others are counted.
PROBLEMS = errors.PROBLEMS
#: Characters of a line in a message.
MESSAGE_LINE = errors.MESSAGE_LINE


#: What the core's own limits bound, which are in `LIMITS`.
_CORE = {
    "dimensions": "Dimensions of a network.",
    "nodes": "Routers of a network.",
    "table_nodes": "Nodes of routing tables.",
    "channels": "Virtual channels of a link.",
    "buffer": "Flits of an input queue.",
    "latency": "Cycles from router to router.",
    "queues": "Input queues of all routers.",
    "queued_flits": "Flits in all input queues, whose depths count as the next power of two.",
    "length": "Flits of a packet.",
    "packets": "Packets of a simulation without a random load.",
    "start": "Cycle in which a packet may start, and other given cycles.",
    "messages": "Messages that are scheduled.",
    "uses": "Links and ports that they may hold, over all their routes.",
    "starts": "Possible starts of all messages in an exact schedule: messages times the lower bound.",
}


def rows() -> list[tuple[str, int, str]]:
    """Name, value and meaning of every limit.

    >>> rows()[0]
    ('SPEC_BYTES', 4194304, 'Bytes of a spec or campaign (TOML).')
    """
    meaning = ""
    found = []
    for line in Path(__file__).read_text(encoding="utf-8").splitlines():
        if line.startswith("#: "):
            meaning = line[3:]
        elif (name := line.partition(" = ")[0]).isidentifier() and name.isupper() and name[0] != "_":
            found.append((name, int(globals()[name]), meaning))
    return found + [(name, int(LIMITS[name]), meaning) for name, meaning in _CORE.items()]


if __name__ == "__main__":
    print("| limit | value | what it bounds |\n|---|---|---|")
    for name, value, meaning in rows():
        print(f"| `{name}` | {value:,} | {meaning} |")
