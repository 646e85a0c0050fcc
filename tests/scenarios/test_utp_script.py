"""Packet scripts: what is refused, and what a script says of itself."""

from pathlib import Path

import pytest

from scenarios.utp_script import ScriptError, read

SCRIPTS = sorted((Path(__file__).parents[2] / "testbed" / "interop" / "scripts").glob("*.utp"))
OPEN = "# A title\n0 < SYN seq=65535\n"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_bundled_scripts_are_scripts(path: Path) -> None:
    script = read(path.read_text())
    assert script.role == ("sender" if "< SYN" in path.read_text() else "receiver")
    assert 0 < script.longest_s <= 65


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 < SYN seq=1", "line 1: found '0 < SYN seq=1', allowed is a title"),
        ("# A title\n", "found no SYN in the first line with a time"),
        (OPEN + "soon < STATE", "line 3: found the time 'soon', allowed are seconds like 0.5"),
        (OPEN + "1...1 > STATE", "line 3: .* allowed is a range that ends after it begins"),
        (OPEN + "1 > STATE", "line 3: found the time '1', allowed is a range here"),
        (OPEN + "1 < DATA seq=2", "line 3: bytes is missing, which a DATA needs"),
        (OPEN + "1 < ACK", "line 3: found 'ACK', allowed is one of DATA, FIN, STATE, RESET, SYN"),
        (OPEN + "0...1 > STATE ack", "line 3: found 'ack', allowed is FIELD=N"),
        (OPEN + "1 < STATE unacked=3", "line 3: found 'unacked=3', allowed is FIELD=N of seq, ack"),
        (OPEN + "wait 3", "line 3: found 'wait 3', allowed are `TIME < PACKET`"),
        (OPEN + "bytes 300", "found bytes, which say what the implementation sends"),
    ],
)
def test_what_is_no_script_is_one_message(text: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        read(text)


def test_payloads_follow_the_numbers_and_not_the_lines() -> None:
    script = read(OPEN + "+0 < DATA seq=1 bytes=30\n+0 < DATA seq=0 bytes=20  # before it\n+0...0.5 > STATE ack=1")
    assert script.payloads() == {0: (0, 20), 1: (20, 30)}


def test_time_is_counted_from_the_line_before_or_from_the_first_packet() -> None:
    script = read(OPEN + "+1...2 > STATE\n+3 < DATA seq=0 bytes=8\n")
    assert script.longest_s == 5
    assert read(OPEN + "+1...2 > STATE\n3 < DATA seq=0 bytes=8\n").longest_s == 3


def test_what_a_pattern_means() -> None:
    [_, line] = read(OPEN + "0...1 > DATA seq=3 bytes<=552 selective=5,7").lines
    assert line.pattern is not None
    assert line.pattern.matches("DATA", {"seq": 3, "bytes": 552}, [5, 7])
    assert not line.pattern.matches("DATA", {"seq": 3, "bytes": 553}, [5, 7])
    assert not line.pattern.matches("DATA", {"seq": 3, "bytes": 552}, [])
    assert not line.pattern.matches("FIN", {"seq": 3, "bytes": 552}, [5, 7])
