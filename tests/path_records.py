"""Asks a subnet administrator for path records, as an MPI library does; runs beside a lab's OpenSM.

Lines ``source node GUID, source port GUID, destination port GUID, destination LID`` come in, lines of
ibdmchk's PSL form go out.
"""

import ctypes
import sys

#: Classes of management datagrams: subnet (LID routed, direct) and subnet administration.
CLASSES = (1, 0x81, 3)
#: GIDs of a subnet begin with this; the port GUID follows.
PREFIX = 0xFE80 << 48
#: The byte of a path record whose lower half is the service level.
LEVEL = 53


class Port(ctypes.Structure):
    """``ib_portid_t`` of libibmad, with room for what is not looked at."""

    _fields_ = (("lid", ctypes.c_int), ("rest", ctypes.c_byte * 256))


def main():
    mad = ctypes.CDLL("libibmad.so.5")
    mad.mad_rpc_open_port.restype = ctypes.c_void_p
    port = mad.mad_rpc_open_port(None, 0, (ctypes.c_int * len(CLASSES))(*CLASSES), len(CLASSES))
    assert port, "no port"
    mad.mad_rpc_set_timeout(ctypes.c_void_p(port), 300)
    manager = Port()
    assert mad.ib_resolve_smlid_via(ctypes.byref(manager), 1000, ctypes.c_void_p(port)) >= 0
    for line in sys.stdin:
        node, source, destination, lid = line.split()
        ends = [(PREFIX << 64 | int(guid, 16)).to_bytes(16, "big") for guid in (source, destination)]
        for _ in range(10):
            # Answers get lost where the simulator is busy.
            record = ctypes.create_string_buffer(256)
            if mad.ib_path_query_via(ctypes.c_void_p(port), *ends, ctypes.byref(manager), record) > 0:
                print(node, lid, record.raw[LEVEL] & 15)
                break
        else:
            sys.exit(f"no answer for {line}")


if __name__ == "__main__":
    main()
