"""Damages inputs: bytes, records of captures, fields of YAML and JSON, files in folders and zips. All from a seed."""

import io
import json
import struct
import zipfile
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

WORDS: Final = (
    *("&a ", "*a", "!!int ", "!!python/object:os.system ", "!!binary ", "!!set ", "? ", "<<: ", "|", ">"),
    *("[", "{", "]", "}", ": ", "- ", "'", '"', "\t", "\n", "---\n", "...\n", "%YAML 9.9\n", "\0", "\N{NEXT LINE}"),
    *("9" * 5000, "1e999ms", "-1", "0", "null", "~", ".nan", "{}", "[]", "99999999999999999999mbit", "0s", "0p"),
    *("${x}", "${", "matrix: ", "cases: ", "../../x", "<script>", "$(id)", "route", "\N{BYTE ORDER MARK}", "[" * 5000),
    *("NaN", "-Infinity", "1e400", "\\ud800", ",", "\r\n"),
)
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 0.5, 1e308, -1e308, float("nan"), float("inf")),
    *("", "0", "x", "../../x", "/etc/passwd", "a" * 10_000, "\0", "\ud800", "10mbit", "1e9s", "<b>", "${x}", "1e999"),
    *([], {}, [[]], [None] * 1000, {"": None}, {"a": {"a": {"a": {}}}}),
)
WORDS_32: Final = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x10000, 999_999_999, 1_000_000_000)
RECORD_HEADER, FILE_HEADER = 16, 24


def damage(path: Path, chance: Random) -> None:
    """Damage a file in a manner that suits what it is, some times over."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        content = path.read_bytes()
        own = _OWN.get(path.suffix)
        method = own if own and chance.random() < 0.6 else text if path.suffix in _TEXTS else some_bytes
        try:
            content = method(content, chance)
        except Exception:  # it is no longer what its name says
            content = some_bytes(content, chance)
        path.write_bytes(content)


def some_bytes(content: bytes, chance: Random) -> bytes:
    """Change, insert, remove or repeat bytes, or cut the end off."""
    data = bytearray(content or b" ")
    where, length = chance.randrange(len(data)), chance.randrange(1, 60)
    match chance.randrange(7):
        case 0:
            data[where] ^= 1 << chance.randrange(8)
        case 1:
            data[where] = chance.randrange(256)
        case 2:
            data[where : where + 4] = struct.pack(chance.choice("<>") + "I", chance.choice(WORDS_32))
        case 3:
            del data[where : where + length]
        case 4:
            other = chance.randrange(len(data))
            data[where:where] = data[other : other + length]
        case 5:
            data[where : where + length] = chance.randbytes(length)
        case _:
            del data[where:]
    return bytes(data)


def text(content: bytes, chance: Random) -> bytes:
    """Change a piece of text, or put a word there that means something somewhere."""
    data = bytearray(content or b" ")
    where, length = chance.randrange(len(data)), chance.randrange(1, 60)
    word = chance.choice(WORDS).encode(errors="surrogatepass")
    match chance.randrange(5):
        case 0:
            data[where:where] = word
        case 1:
            del data[where : where + length]
        case 2:
            data[where] = chance.randrange(256)
        case 3:
            other = chance.randrange(len(data))
            data[where:where] = data[other : other + length]
        case _:  # another value
            colon = data.find(b":", where)
            line_end = data.find(b"\n", colon)
            data[colon + 1 : max(line_end, colon + 1)] = b" " + word
    return bytes(data)


def fields(data: Any, chance: Random) -> Any:
    """Change, remove, rename, repeat or swap a value somewhere in plain data."""
    places = list(_places(data))
    if not places:
        return chance.choice(VALUES)
    holder, key = chance.choice(places)
    other_holder, other_key = chance.choice(places)
    match chance.randrange(6):
        case 0 | 1:
            holder[key] = chance.choice(VALUES)
        case 2:
            del holder[key]
        case 3:
            holder[key] = other_holder[other_key]
        case 4 if isinstance(holder, dict):
            holder[chance.choice(("x", "", "../x", str(other_key)))] = holder.pop(key)
        case _:
            holder[key] = [holder[key]] * chance.choice((2, 20, 1000))
    return data


def _places(data: Any) -> Any:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield data, key
        yield from _places(value)


def of_json(content: bytes, chance: Random) -> bytes:
    """Change a field; the rest stays JSON."""
    changed = fields(json.loads(content), chance)
    return json.dumps(changed).encode(errors="surrogatepass")


def of_yaml(content: bytes, chance: Random) -> bytes:
    """Change a field; the rest stays YAML."""
    changed = fields(yaml.load(content, yaml.CBaseLoader), chance)  # noqa: S506 (it makes texts, lists and mappings)
    return yaml.dump(changed, Dumper=yaml.CSafeDumper, sort_keys=False).encode(errors="surrogatepass")


def of_pcap(content: bytes, chance: Random) -> bytes:
    """Change records of a classic pcap file: their times, their lengths, their headers, their order."""
    head, records = content[:FILE_HEADER], _records(content)
    at = chance.randrange(len(records))
    record = bytearray(records[at])
    match chance.randrange(8):
        case 0:
            record[:4] = struct.pack("<I", chance.choice(WORDS_32))
        case 1:  # all from here on
            apart = chance.choice((-1, 1)) * chance.choice((1, 60, 86_400, 10**9))
            for number in range(at, len(records)):
                seconds = int.from_bytes(records[number][:4], "little")
                records[number] = ((seconds + apart) % 2**32).to_bytes(4, "little") + records[number][4:]
            return head + b"".join(records)
        case 2:
            record[8:12] = struct.pack("<I", chance.choice((*WORDS_32, len(record))))
        case 3:  # a field of a header
            where = chance.randrange(RECORD_HEADER, min(len(record), RECORD_HEADER + 90))
            value = chance.choice(
                (struct.pack(">I", chance.choice(WORDS_32)), chance.randbytes(chance.randrange(1, 5)))
            )
            record[where : where + len(value)] = value
        case 4:
            return head + b"".join(records[:at] + records[at + 1 :])
        case 5:
            chosen = records[at : at + chance.choice((1, 30))]
            return head + b"".join(records[:at] + chosen * chance.choice((1, 10)) + records[at:])
        case 6:
            chance.shuffle(records)
            return head + b"".join(records)
        case _:
            records.reverse()
            return head + b"".join(records)
    records[at] = bytes(record)
    return head + b"".join(records)


def _records(content: bytes) -> list[bytes]:
    records, at = [], FILE_HEADER
    while at + RECORD_HEADER <= len(content):
        end = at + RECORD_HEADER + struct.unpack_from("<I", content, at + 8)[0]
        records.append(content[at:end])
        at = end
    if not records:
        raise ValueError("no record")
    return records


def of_zip(content: bytes, chance: Random) -> bytes:
    """Change a member, or its name, or how large it says to be; or put a strange one beside."""
    into = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen, what = chance.choice(names), chance.randrange(6)
        for info in old.infolist():
            data = old.read(info)
            if info.filename == chosen:
                if what == 0:
                    continue
                if what == 1:
                    info.filename = chance.choice(("../x", "/tmp/x", "a" * 3000, "x\\y", "\x01", chance.choice(names)))
                elif what == 2:
                    info.external_attr = chance.choice((0o120777, 0o104755, 0o020666)) << 16
                elif what == 3:
                    data = bytes(chance.choice((1, 50 << 20)))
                else:
                    own = _OWN.get(Path(chosen).suffix, text)
                    data = own(data, chance)
            new.writestr(info, data)
    return into.getvalue()


_TEXTS: Final = (".json", ".yaml", ".csv", ".txt", ".log", ".md")
_OWN: Final = {".json": of_json, ".yaml": of_yaml, ".pcap": of_pcap, ".zip": of_zip}
