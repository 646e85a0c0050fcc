"""Sentences about how a script ended, where its own words do not say what to do."""

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

_STORM = re.compile(r"^storm: (?P<json>\{.*\})\r?$", re.MULTILINE)  # a console has carriage returns
_NO_PROCESS = re.compile(r"^start_userspace : clone failed, errno = (?P<number>\d{1,3})\r?$", re.MULTILINE)
_RUNNING = re.compile(r"^running: ", re.MULTILINE)  # the kernel says so when asked, which a guest at a standstill is
_TAIL_BYTES = 1 << 20
_FEW = 3


def of(summary: dict[str, Any], link_rate: str | None) -> Iterator[str]:
    """About a script that ended: its controller, limit, links without a rate unless its user chose one, and a storm."""
    if summary["controller_exit"] is not None:
        status = summary["controller_exit"]
        yield f"the controller ended with status {status} before the script began; files/controller.txt has its words"
    if summary["limit_s"] and summary["virtual_s"] >= summary["limit_s"]:
        yield f"interrupted after {summary['limit_s']} s of virtual time (`--limit SECONDS` sets another)"
    if summary["link_rate_bps"] and link_rate is None:
        rate = f"{summary['link_rate_bps'] / 1e9:g} Gbit/s"
        yield f"links to which the script gives no rate have {rate} (`--link-rate RATE` sets another)"
    if summary["storm"]:
        yield _of_storm(summary["storm"])


def of_console(folder: Path, memory_mib: int) -> Iterator[str]:
    """About a guest that was ended, by what it told on its console: a process refused, a storm, perhaps its memory."""
    console = _console(folder)
    refused = _NO_PROCESS.search(console)
    if refused:
        yield f"; this host refused the guest a process ({os.strerror(int(refused['number']))})"
    storm = _STORM.search(console)
    if storm:
        try:
            yield f"; {_of_storm(json.loads(storm['json']))}"
        except (ValueError, KeyError, TypeError, RecursionError):  # whoever is root in the guest may write there
            return
    elif _RUNNING.search(console):
        yield f"; a guest short of memory stands still, too: this one had {memory_mib} MiB (`--memory MIB` sets more)"


def _console(folder: Path) -> str:
    """The end of a console in a folder that a guest may have changed: no link is followed and no pipe opened."""
    with ExitStack() as opened:
        try:
            logs = os.open(folder / "logs", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, logs)
            console = os.open("console.log", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=logs)
            opened.callback(os.close, console)
        except OSError:
            return ""
        status = os.fstat(console)
        if not stat.S_ISREG(status.st_mode):
            return ""
        return os.pread(console, _TAIL_BYTES, max(0, status.st_size - _TAIL_BYTES)).decode(errors="replace")


def _of_storm(storm: dict[str, Any]) -> str:
    loops = ", ".join("-".join([*loop, loop[0]]) for loop in storm["loops"][:_FEW])
    return (
        f"switches form the loop {loops}, where {storm['interface']} sent {storm['pkts']:,} packets, and all hosts "
        f"together {storm['from_hosts_pkts']:,}: frames circle there without end unless a controller, or `stp=True` of "
        "switches with `failMode='standalone'`, finds a spanning tree"
    )
