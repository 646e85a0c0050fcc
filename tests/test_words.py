"""docs/reference/terms.md: each term has one meaning, and nobody writes one of the synonyms that it lists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = "docs/reference/terms.md"
# other people's texts, data, and what tools write
NOT_OURS = re.compile(r"LICENSES/|LICENSE$|workflows/reference/|.*\.(lock|sum|svg|pcap|parquet|patch|csv)$")

# the module's digest stands beside recorded runs, so a word in its comments waits for the next recording
WAITS = {("images/tcp_ledbat/tcp_ledbat.c", "way back"), ("images/tcp_ledbat/tcp_ledbat_test.c", "way back")}


def synonyms() -> list[str]:
    """The left column of the page's table "instead of, write"."""
    [table] = re.findall(r"^\| instead of \| write \|\n\|---\|---\|\n((?:\|.*\n)+)", (ROOT / PAGE).read_text(), re.M)
    return [phrase.strip() for row in table.splitlines() for phrase in row.split("|")[1].split(",")]


def pattern(phrase: str) -> re.Pattern[str]:
    """What finds a phrase across the ends of lines and comments; `…` is any one word."""
    words = r"[\s#/*]+".join(r"[\w-]+" if word == "…" else re.escape(word) for word in phrase.split())
    return re.compile(rf"(?<![\w-]){words}(?![\w-])", re.I)


def test_nobody_writes_a_synonym() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    patterns = [pattern(phrase) for phrase in synonyms()]
    synonyms_written = []
    for name in listed.split():
        if NOT_OURS.match(name) or name in (PAGE, "tests/test_words.py") or not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_text()
        for match in (match for phrase in patterns for match in phrase.finditer(text)):
            words = " ".join(match[0].split())
            if (name, words) not in WAITS:
                synonyms_written.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {words}")
    assert synonyms_written == [], f"words that {PAGE} replaces"


def test_each_term_has_one_meaning() -> None:
    terms = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", (ROOT / PAGE).read_text().split("## Not these")[0], re.M)
    assert len(terms) > 40
    assert [term for term in set(terms) - {"term"} if terms.count(term) > 1] == []


def test_a_phrase_is_found_across_lines_and_not_inside_words() -> None:
    assert pattern("way back").search("the\n    # Way\n    # back of it")
    assert pattern("is no … that").search("x is no file that a run leaves")
    assert not pattern("latecomer").search("eunice-sec1-latecomer-needs-no-tcp")
