"""MPTCP with the module on Debian's own kernel, and what that kernel says if it takes only modules with a known key."""

import json
import shutil
from pathlib import Path

from tests.reach import machine

COMMANDS = """\
insmod /opt/modules/tcp_ledbat.ko
ip link set lo up
python3 -S /multipath.py
echo 1 >/sys/module/module/parameters/sig_enforce
insmod /opt/modules/tcp_ledbat_research.ko
"""
RATE_BPS = 3_000_000
BASE_US = 20_000
TARGET_US = 60_000

pytestmark = machine.ON_STOCK_KERNEL


def test_each_subflow_has_the_control(tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    shutil.copy(Path(__file__).with_name("multipath.py"), added)
    said = machine.printed(added, COMMANDS, 7200)
    results = {each["case"]: each for each in map(json.loads, (s for s in said.splitlines() if s.startswith("{")))}
    assert {case: each["controls"] for case, each in results.items()} == {
        "none": ["cubic", "cubic"],
        "socket": ["ledbatpp", "ledbatpp"],
        "connected": ["ledbatpp", "ledbatpp"],
        "route": ["ledbatpp", "cubic"],
        "sysctl": ["ledbatpp", "ledbatpp"],
    }
    for case in ("socket", "sysctl"):
        assert all(bps > 0.7 * RATE_BPS for bps in results[case]["bps"])
        assert all(rtt_us < BASE_US + TARGET_US + 20_000 for rtt_us in results[case]["rtt_us"])
    # of the queue's 240 ms
    assert all(rtt_us > BASE_US + 150_000 for rtt_us in results["none"]["rtt_us"])
    assert "Key was rejected by service" in said
