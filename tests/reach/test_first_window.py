"""On Debian's own kernel: a route's initrwnd bounds what a download offers before it has measured a delay."""

import json
import shutil
from pathlib import Path

from tests.reach import machine

COMMANDS = """\
modprobe veth
insmod /opt/modules/tcp_rledbat.ko
ip link set lo up
python3 -S /first_window.py
"""
SEGMENT_BYTES = 1448

pytestmark = machine.ON_STOCK_KERNEL


def test_initrwnd_bounds_the_first_window(tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    shutil.copy(Path(__file__).with_name("first_window.py"), added)
    said = machine.printed(added, COMMANDS, 1200)
    first = {each["route"]: each["first"] for each in map(json.loads, (s for s in said.splitlines() if s[:1] == "{"))}
    assert first["congctl rledbat"] > 60_000
    for segments in (2, 10):
        offered = first[f"congctl rledbat initrwnd {segments}"]
        assert segments * SEGMENT_BYTES <= offered < (segments + 1) * SEGMENT_BYTES
    assert first["initrwnd 10"] == first["congctl rledbat initrwnd 10"]  # without the module, the route does the same
