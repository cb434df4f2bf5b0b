"""Protocol Buffers as far as traces need them: messages by a schema to dictionaries, and back.

The wire format is that of proto3 (protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from flitloom.errors import SpecError
from flitloom.ground.numerals import counted

#: Per message: number of a field to its name, its type (or a message's name), and whether it is repeated.
#: Numbers ascend, as the fields are written.
Schema = dict[str, dict[int, tuple[str, str, bool]]]

#: Types of whole numbers as varints: bits, whether signed, whether zigzag.
_VARINTS = {
    "uint64": (64, False, False),
    "uint32": (32, False, False),
    "int64": (64, True, False),
    "int32": (32, True, False),
    "sint64": (64, True, True),
    "sint32": (32, True, True),
    "bool": (64, False, False),
    "enum": (32, True, False),
}
#: Types of fixed length: their form and their wire type.
_FIXED = {
    "double": ("<d", 1),
    "fixed64": ("<Q", 1),
    "sfixed64": ("<q", 1),
    "float": ("<f", 5),
    "fixed32": ("<I", 5),
    "sfixed32": ("<i", 5),
}
#: Messages inside each other.
DEPTH = 16
#: Varints of one byte.
_SINGLE = [bytes([value]) for value in range(0x80)]


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """A varint and the place behind it.

    >>> read_varint(b"\\xac\\x02", 0)
    (300, 2)
    """
    value = shift = 0
    while True:
        if place >= len(data):
            raise SpecError("a number is cut off")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & ((1 << 64) - 1), place
        shift += 7
        if shift > 63:
            raise SpecError("a number has more than ten bytes")


def write_varint(value: int) -> bytes:
    """A number from 0 as a varint.

    >>> write_varint(300)
    b'\\xac\\x02'
    """
    if value < 0x80:
        return _SINGLE[value]
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def delimited(data: bytes) -> Iterator[bytes]:
    """Messages that each follow their length.

    Raises
    ------
    SpecError
        The last one is cut off.
    """
    place, number = 0, 0
    while place < len(data):
        try:
            size, place = read_varint(data, place)
        except SpecError as error:
            raise SpecError(f"message {number}: its length: {error}") from None
        if size > len(data) - place:
            raise SpecError(
                f"message {number}: has {counted(size, 'byte')}, {len(data) - place} are left; "
                "the file is cut off"
            )
        yield data[place : place + size]
        place += size
        number += 1


def decode(schema: Schema, message: str, data: bytes, depth: int = 0) -> dict[str, Any]:
    """The fields of a message that are set, by their names; others are skipped.

    Raises
    ------
    SpecError
        It is not such a message.
    """
    if depth > DEPTH:
        raise SpecError(f"messages are nested more than {DEPTH} deep")
    fields, found = schema[message], dict[str, Any]()
    place = 0
    while place < len(data):
        key, place = read_varint(data, place)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise SpecError("a field has the number 0")
        value, place = _value(data, place, wire)
        if number not in fields:
            continue
        name, kind, repeated = fields[number]
        values = _typed(schema, kind, wire, value, repeated, f"{message}.{name}", depth)
        if repeated:
            found.setdefault(name, []).extend(values)
        elif kind in schema and name in found:
            found[name] |= values[-1]
        elif values:
            found[name] = values[-1]
    return found


def _value(data: bytes, place: int, wire: int) -> tuple[Any, int]:
    """The next value, as a number or as bytes."""
    if wire == 0:
        return read_varint(data, place)
    if wire == 2:
        size, place = read_varint(data, place)
    elif wire in (1, 5):
        size = 8 if wire == 1 else 4
    else:
        raise SpecError(f"wire type {wire} is unknown")
    if size > len(data) - place:
        raise SpecError(f"a field has {counted(size, 'byte')}, {len(data) - place} are left; it is cut off")
    return data[place : place + size], place + size


def _typed(
    schema: Schema, kind: str, wire: int, value: Any, repeated: bool, where: str, depth: int
) -> list[Any]:
    """A value as its type; several of a packed field."""
    if kind in _VARINTS:
        if wire == 0:
            return [_whole(kind, value)]
        if wire == 2 and repeated:
            values, place = [], 0
            while place < len(value):
                one, place = read_varint(value, place)
                values.append(_whole(kind, one))
            return values
    elif kind in _FIXED:
        form, usual = _FIXED[kind]
        if wire == usual:
            return list(struct.unpack(form, value))
        if wire == 2 and repeated and len(value) % struct.calcsize(form) == 0:
            return [one for (one,) in struct.iter_unpack(form, value)]
    elif wire == 2:
        if kind == "bytes":
            return [value]
        if kind == "string":
            try:
                return [value.decode()]
            except UnicodeDecodeError:
                raise SpecError(f"{where}: is not UTF-8 text") from None
        return [decode(schema, kind, value, depth + 1)]
    raise SpecError(f"{where}: wire type {wire} is not that of {kind}")


def _whole(kind: str, value: int) -> int | bool:
    bits, signed, zigzag = _VARINTS[kind]
    if kind == "bool":
        return bool(value)
    value &= (1 << bits) - 1
    if zigzag:
        return (value >> 1) ^ -(value & 1)
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def encode(schema: Schema, message: str, fields: dict[str, Any]) -> bytes:
    """A message of the given fields; lists of numbers are packed, messages within may be encoded already.

    Examples
    --------
    >>> from flitloom.traces.protobuf import encode
    >>> encode({"Pair": {1: ("a", "int32", False), 2: ("b", "string", False)}}, "Pair", {"a": 150, "b": "x"})
    b'\\x08\\x96\\x01\\x12\\x01x'
    """
    made = bytearray()
    for number, (name, kind, repeated) in schema[message].items():
        if name not in fields:
            continue
        values = fields[name] if repeated else [fields[name]]
        if repeated and (kind in _VARINTS or kind in _FIXED):
            packed = b"".join(_encoded(schema, kind, value) for value in values)
            if values:
                made += write_varint(number << 3 | 2) + write_varint(len(packed)) + packed
            continue
        for value in values:
            data = _encoded(schema, kind, value)
            if kind in _VARINTS:
                made += write_varint(number << 3) + data
            elif kind in _FIXED:
                made += write_varint(number << 3 | _FIXED[kind][1]) + data
            else:
                made += write_varint(number << 3 | 2) + write_varint(len(data)) + data
    return bytes(made)


def _encoded(schema: Schema, kind: str, value: Any) -> bytes:
    if kind in _VARINTS:
        bits, _, zigzag = _VARINTS[kind]
        number = int(value)
        if zigzag:
            number = (number << 1) ^ (number >> (bits - 1))
        return write_varint(number & ((1 << 64) - 1))
    if kind in _FIXED:
        return struct.pack(_FIXED[kind][0], value)
    if kind == "string":
        return str(value).encode()
    return bytes(value) if kind == "bytes" or isinstance(value, bytes) else encode(schema, kind, value)
