"""What mm-link of Mahimahi logs: bytes that came, left and were dropped, each with its millisecond."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from analysis.errors import BadInputError
from analysis.observer.conversation import Samples
from analysis.observer.logs import log
from analysis.observer.logs.log import Log, Stream

BEGINS: Final = b"# mahimahi mm-link"
BIN_S: Final = 0.1
_ROW: Final = re.compile(r"(\d{1,15}) (?:\+ (\d{1,9})|- (\d{1,9}) (\d{1,12})|# (\d{1,9})|d (\d{1,9}) (\d{1,12}))$")


def read(path: Path, text: str) -> Log:
    """Read the log of one direction.

    Raises BadInputError for a line that mm-link does not write, and where no packet left.
    """
    left, dropped = [], 0
    for row in _rows(path, text):
        if row[3]:
            left.append((int(row[1]), int(row[3]), int(row[4])))
        elif row[6]:
            dropped += int(row[6])
    if len(left) < 2 or left[0][0] == left[-1][0]:
        raise BadInputError(f"{path}: found no packets that left the link at two instants; allowed: a log with them")
    milliseconds, sizes, waits = np.array(left, np.int64).T
    order = np.argsort(milliseconds, kind="stable")
    times = (milliseconds[order] - milliseconds[order][0]) / 1e3
    edges = np.arange(0, times[-1] + BIN_S, BIN_S)
    sums, _ = np.histogram(times, edges, weights=sizes[order])
    series = {
        log.THROUGHPUT: Samples(edges[:-1], 8 * sums / BIN_S),
        log.QUEUING: Samples(times, waits[order].astype(float)),
    }
    way = re.search(r"\((\w+)\)", text.partition("\n")[0])
    name = way[1] if way else "link"
    counts = {"lost_pkts": dropped, "sent_pkts": len(left) + dropped}
    return Log(path, "mm-link", None, [Stream(name, None, None, series, float(edges[-1]), None, counts)], [])


def _rows(path: Path, text: str) -> Iterator[re.Match[str]]:
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        row = _ROW.match(line.strip())
        if row:
            yield row
        elif number < len(lines):  # a writer that was killed cuts its last line
            raise BadInputError(f"{path}: line {number}: found {line[:40]!r}; allowed: rows as mm-link writes them")
