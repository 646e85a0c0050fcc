"""Packet scripts for uTP: what a peer sends and when, and what has to come back when (docs/howto/interop.md).

Reads a script, and nothing of this project: the guest runs this file beside the program that plays the peer. Numbers in
a script are the peer's own as they are; those of the implementation count from its first packet, which has 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

KINDS: Final = ("DATA", "FIN", "STATE", "RESET", "SYN")
"""In the order of their numbers in BEP 29."""
ANY: Final = "PACKET"
"""Stands for every kind, of packets that come."""
SENT: Final = ("seq", "ack", "window", "bytes", "connection", "version")
EXPECTED: Final = ("seq", "ack", "window", "bytes", "connection", "version", "unacked")
LISTED: Final = ("selective",)
"""Fields of packets that come which are a list of numbers, `selective=4,5`."""
_TIME: Final = re.compile(r"(\+?)(\d+(?:\.\d+)?)(?:\.\.\.(\d+(?:\.\d+)?))?")
_FIELD: Final = re.compile(r"([a-z]+)(<=|>=|=|<|>)(\d+(?:,\d+)*)")
_EXTENSION: Final = re.compile(r"extension=(\d+):((?:[0-9a-f]{2})+)")
_COMPARED: Final[dict[str, Callable[[int, int], bool]]] = {
    "=": lambda value, asked: value == asked,
    "<": lambda value, asked: value < asked,
    ">": lambda value, asked: value > asked,
    "<=": lambda value, asked: value <= asked,
    ">=": lambda value, asked: value >= asked,
}


class ScriptError(Exception):
    """A script that is none; the message names the line, what was found and what is allowed."""


@dataclass(frozen=True)
class Pattern:
    """Which packets of the implementation are meant: a kind and conditions on fields."""

    kind: str
    conditions: tuple[tuple[str, str, tuple[int, ...]], ...]

    def matches(self, kind: str, fields: dict[str, int], selective: Sequence[int]) -> bool:
        """Whether a packet is meant."""
        return self.kind in (kind, ANY) and all(
            tuple(selective) == asked if name in LISTED else _COMPARED[sign](fields[name], asked[0])
            for name, sign, asked in self.conditions
        )


@dataclass(frozen=True)
class Packet:
    """What the peer sends; a field that is left out has its default."""

    kind: str
    fields: dict[str, int]
    extension: tuple[int, bytes] | None


@dataclass(frozen=True)
class Line:
    """A line with an instant or a range, s: after the line before if `relative`, else after the first packet.

    With `packet`, the peer sends: once, or in a range in answer to everything that has a number, until such a packet
    comes as `pattern` says. With `pattern` alone, such a packet comes in the range; if `absent`, none comes.
    """

    number: int
    text: str
    relative: bool
    begin: float
    end: float | None
    packet: Packet | None = None
    pattern: Pattern | None = None
    absent: bool = False


@dataclass(frozen=True)
class Loss:
    """Packets of the implementation that count as lost: all of them, or only the first one."""

    pattern: Pattern
    once: bool


@dataclass
class Script:
    """A whole script."""

    title: str
    bytes: int | None = None
    lines: list[Line] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    never: list[Line] = field(default_factory=list)

    @property
    def role(self) -> str:
        """The side of the flow that the peer plays: who sends the SYN is the sender."""
        return "sender" if self.lines[0].packet else "receiver"

    @property
    def longest_s(self) -> float:
        """How long it can last after its first packet."""
        at = 0.0
        for line in self.lines:
            at = (at if line.relative else 0.0) + (line.begin if line.end is None else line.end)
        return at

    def payloads(self) -> dict[int, tuple[int, int]]:
        """Offset and length of what each number of the peer carries, in the order of the numbers after the SYN's."""
        sizes = {
            line.packet.fields["seq"]: line.packet.fields["bytes"]
            for line in self.lines
            if line.packet and line.packet.kind == "DATA"
        }
        first = self.lines[0].packet.fields["seq"] if self.lines[0].packet else 0
        payloads, offset = {}, 0
        for seq in sorted(sizes, key=lambda seq: (seq - first) % 2**16):
            payloads[seq] = offset, sizes[seq]
            offset += sizes[seq]
        return payloads


def read(text: str) -> Script:
    """Read a script.

    Raises:
        ScriptError: it is none.
    """
    title, _, rest = text.partition("\n")
    if not title.startswith("# "):
        raise ScriptError(f"line 1: found {title!r}, allowed is a title, `# What this asks`")
    script = Script(title[2:])
    for number, line in enumerate(rest.split("\n"), 2):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            _add(script, number, words)
        except ValueError as error:
            raise ScriptError(f"line {number}: {error}") from None
    first = script.lines[0] if script.lines else None
    if first is None or (first.packet or first.pattern or _NOTHING).kind != "SYN":
        raise ScriptError("found no SYN in the first line with a time; a script begins with the SYN that opens")
    if script.bytes is not None and script.role == "sender":
        raise ScriptError("found bytes, which say what the implementation sends; here it receives")
    return script


_NOTHING: Final = Pattern("", ())


def _add(script: Script, number: int, words: list[str]) -> None:
    text = " ".join(words)
    match words:
        case ["bytes", amount] if amount.isdigit():
            script.bytes = int(amount)
        case ["lose", "first", *pattern]:
            script.lost.append(Loss(_pattern(pattern), once=True))
        case ["lose", *pattern]:
            script.lost.append(Loss(_pattern(pattern), once=False))
        case ["never", *pattern]:
            script.never.append(Line(number, text, relative=False, begin=0, end=None, pattern=_pattern(pattern)))
        case [time, "<", *packet] if "until" in packet:
            at = packet.index("until")
            line = Line(number, text, *_range(time), _packet(packet[:at]), _pattern(packet[at + 1 :]))
            script.lines.append(line)
        case [time, "<", *packet]:
            script.lines.append(Line(number, text, *_time(time), packet=_packet(packet)))
        case [time, ">", "no", *pattern]:
            script.lines.append(Line(number, text, *_range(time), pattern=_pattern(pattern), absent=True))
        case [time, ">", *pattern]:
            script.lines.append(Line(number, text, *_range(time), pattern=_pattern(pattern)))
        case _:
            raise ValueError(
                f"found {text!r}, allowed are `TIME < PACKET`, `TIME...TIME < PACKET until PACKET`, "
                "`TIME...TIME > PACKET`, `TIME...TIME > no PACKET`, `lose PACKET`, `lose first PACKET`, `never PACKET` "
                "and `bytes N`"
            )


def _time(word: str) -> tuple[bool, float, float | None]:
    if not (parts := _TIME.fullmatch(word)):
        raise ValueError(f"found the time {word!r}, allowed are seconds like 0.5, +0.5, 0...0.5 and +0...0.5")
    plus, begin, end = parts.groups()
    if end is not None and float(end) <= float(begin):
        raise ValueError(f"found the time {word!r}, allowed is a range that ends after it begins")
    return bool(plus), float(begin), None if end is None else float(end)


def _range(word: str) -> tuple[bool, float, float | None]:
    time = _time(word)
    if time[2] is None:
        raise ValueError(f"found the time {word!r}, allowed is a range here, like +0...0.5")
    return time


def _kind(words: list[str], allowed: Sequence[str]) -> str:
    if not words or words[0] not in allowed:
        raise ValueError(f"found {' '.join(words[:1])!r}, allowed is one of {', '.join(allowed)}")
    return words[0]


def _pattern(words: list[str]) -> Pattern:
    conditions = []
    for word in words[1:]:
        parts = _FIELD.fullmatch(word)
        if not parts or parts[1] not in (*EXPECTED, *LISTED) or (parts[1] in LISTED and parts[2] != "="):
            allowed = f"FIELD=N, also with <, >, <=, >=, of {', '.join(EXPECTED)}, or selective=N,N"
            raise ValueError(f"found {word!r}, allowed is {allowed}")
        conditions.append((parts[1], parts[2], tuple(map(int, parts[3].split(",")))))
    return Pattern(_kind(words, (*KINDS, ANY)), tuple(conditions))


def _packet(words: list[str]) -> Packet:
    fields, extension = {}, None
    for word in words[1:]:
        if parts := _EXTENSION.fullmatch(word):
            extension = int(parts[1]), bytes.fromhex(parts[2])
        elif (parts := _FIELD.fullmatch(word)) and parts[1] in SENT and parts[2] == "=" and "," not in parts[3]:
            fields[parts[1]] = int(parts[3])
        else:
            raise ValueError(f"found {word!r}, allowed is FIELD=N of {', '.join(SENT)}, or extension=NUMBER:HEX")
    kind = _kind(words, KINDS)
    needed = {"SYN": ("seq",), "DATA": ("seq", "bytes"), "FIN": ("seq",)}.get(kind, ())
    for name in needed:
        if name not in fields:
            raise ValueError(f"{name} is missing, which a {kind} needs")
    return Packet(kind, fields, extension)
