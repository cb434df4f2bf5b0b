"""The text form of protocol buffers, as far as it needs no schema: fields by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from flitloom.errors import SpecError

#: Messages within messages.
DEPTH = 64
_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<word>[A-Za-z_][\w.]*)|(?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|\d[\d.eE+-]*))"""
    r"""|"(?P<string>[^"\n\\]*)"|'(?P<quoted>[^'\n\\]*)'|(?P<sign>[{}<>\[\]:,;])"""
)
_CLOSING = {"{": "}", "<": ">"}

#: A field's values, in the order of the text.
Message = dict[str, list[Any]]


def parse(text: str, source: str) -> Message:
    """Read a message; values are whole numbers, words, strings, or messages.

    Raises
    ------
    SpecError
        The text is damaged; the message names the line.

    Examples
    --------
    >>> from flitloom.fabric.textproto import parse
    >>> parse('mesh { dims: [2, 4] name: "M0" }', "mesh.textproto")
    {'mesh': [{'dims': [2, 4], 'name': ['M0']}]}
    """
    return _Reader(text, source).message("", 0)


class _Reader:
    """The tokens of a text, one ahead."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.line = 1
        self.tokens = self._tokens(text)
        self.next: tuple[str, Any] = ("end", "")
        self.advance()

    def _tokens(self, text: str) -> Iterator[tuple[str, Any]]:
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.damaged(f"{text[at : at + 20]!r} is nothing known there")
            kind = match.lastgroup
            if kind in ("string", "quoted"):
                yield "string", match[kind]
            elif kind == "number":
                yield "number", self._number(match[kind])
            elif kind is not None:
                yield kind, match[kind]
            self.line += match[0].count("\n")
            at = match.end()
        while True:
            yield "end", ""

    def _number(self, text: str) -> int:
        if len(text) > 20 or not re.fullmatch(r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+)", text):
            raise self.damaged(f"{text[:20]!r} is not a whole number")
        return int(text, 16 if "x" in text.lower() else 10)

    def damaged(self, what: str) -> SpecError:
        return SpecError(f"{self.source}, line {self.line}: {what}")

    def advance(self) -> tuple[str, Any]:
        token, self.next = self.next, next(self.tokens)
        return token

    def takes(self, *signs: str) -> bool:
        if self.next[0] == "sign" and self.next[1] in signs:
            self.advance()
            return True
        return False

    def message(self, closing: str, depth: int) -> Message:
        if depth > DEPTH:
            raise self.damaged(f"more than {DEPTH} messages within each other")
        fields: Message = {}
        while self.next != (("sign", closing) if closing else ("end", "")):
            kind, name = self.advance()
            if kind != "word":
                raise self.damaged(
                    "the text ends within a message" if kind == "end" else f"{name!r} is not a field"
                )
            colon = self.takes(":")
            values = fields.setdefault(name, [])
            if self.takes("["):
                while not self.takes("]"):
                    values.append(self.value(depth))
                    self.takes(",")
            elif colon or self.next[1] in _CLOSING:
                values.append(self.value(depth))
            else:
                raise self.damaged(f"{name} has no value; write {name}: VALUE or {name} {{ ... }}")
            if not values:
                # An empty list is as none.
                del fields[name]
            self.takes(",", ";")
        if closing:
            self.advance()
        return fields

    def value(self, depth: int) -> Any:
        kind, value = self.advance()
        if kind == "sign" and value in _CLOSING:
            return self.message(_CLOSING[value], depth + 1)
        if kind in ("sign", "end"):
            raise self.damaged(
                f"a value is missing before {value!r}" if value else "the text ends within a message"
            )
        return value
