"""docs/reference/terms.md: each term has one meaning, and nobody writes a synonym."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = "docs/reference/terms.md"
# other people's texts, data, and what tools write
NOT_OURS = re.compile(r"LICENSES/|LICENSE$|workflows/reference/|.*\.(lock|sum|svg|pcap|parquet|patch|csv)$")

INSTEAD_OF = {
    "way there": "forward path",
    "way back, backward path": "reverse path",
    "late comer, latecomer": "late-comer",
    "queueing delay, queue delay": "queuing delay",
    "minimum delay, minimal delay, basic delay": "base delay",
    "the print is, of the print": "the scan is, of the scan",
    "oracle, oracles": "property",
    "is no … that": "is not a … that, unexpected …, unknown …",
    "bottle neck": "bottleneck",
    "round trip time": "round-trip time",
    "test bed": "testbed",
    "are told, was told, were told, is told to": "learns, gets, reports, requests",
    "told right, told wrong": "classified correctly, mistakes",
    "that which, one which": "the noun itself",
    "short way, long way, slow way": "short path, long path, slow path",
    "what is said when": "the message when",
}
"""What to write instead of a phrase, or of several with commas between."""

# the module's digest stands beside recorded runs, so a word in its comments waits for the next recording
WAITS = {("images/tcp_ledbat/tcp_ledbat.c", "way back"), ("images/tcp_ledbat/tcp_ledbat_test.c", "way back")}


def pattern(phrase: str) -> re.Pattern[str]:
    """What finds a phrase across the ends of lines and comments; `…` is any one word."""
    words = r"[\s#/*]+".join(r"[\w-]+" if word == "…" else re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<![\w-]){words}(?![\w-])", re.I)


def test_nobody_writes_a_synonym() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    patterns = [pattern(phrase.strip()) for phrases in INSTEAD_OF for phrase in phrases.split(",")]
    synonyms_written = []
    for name in listed.split():
        if NOT_OURS.match(name) or name == "tests/test_words.py" or not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_text()
        for match in (match for phrase in patterns for match in phrase.finditer(text)):
            words = " ".join(match[0].split())
            if (name, words) not in WAITS:
                synonyms_written.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {words}")
    assert synonyms_written == [], "INSTEAD_OF has what to write"


def test_each_term_has_one_meaning() -> None:
    terms = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", (ROOT / PAGE).read_text(), re.M)
    assert len(terms) > 40
    assert [term for term in set(terms) - {"term"} if terms.count(term) > 1] == []


def test_a_phrase_is_found_across_lines_and_not_inside_words() -> None:
    assert pattern("way back").search("the\n    # Way\n    # back of it")
    assert pattern("is no … that").search("x is no file that a run leaves")
    assert not pattern("latecomer").search("eunice-sec1-latecomer-needs-no-tcp")
