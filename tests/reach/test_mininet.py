"""Mininet's own tests under `testbed exec`, unmodified: which fail here, and why.

Those of its examples are in Debian's package. `$MININET_SOURCE`, a checkout of Mininet 2.3.0, adds those of Mininet.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from engine import images
from images import index
from tests.exec.collection import TESTBED

EXAMPLES = "usr/share/doc/mininet/examples/test"
NO_SSH = "no SSH server in the lab"
NO_SWITCH = "the reference user switch ofdatapath is not in Debian"
NO_TIME = "it measures iperf over a link without a rate: computing takes no time here"
FAILS = {
    "testBareSSHD": NO_SSH,
    "testSSHD": NO_SSH,
    "testMobility": "it deletes all flows, and with them Open vSwitch's controller's rule for packets without a flow",
    "testNAT": "it pings a host of the Internet",
    "testControlNet": NO_SWITCH,
    "testScratchNet": NO_SWITCH,  # one of its two tests asks for it
    "testTreePing64": NO_SWITCH,
    "testCPU": NO_TIME,
    "testLimit": "it measures control groups by programs that only compute: that takes no time here",
    "testTree1024": "Open vSwitch's controller serves 16 of its 33 switches, and it waits for all",
    "testWalkthrough": "of its 18 tests, two ask for ofdatapath, one for a file beside its folder, and one filters by "
    "`openflow_v1`, by which Debian's tshark finds nothing, not even in a file where it shows OpenFlow",
}
"""Why a class of tests fails, by its name."""
ENDLESS = {"test_hifi": "it measures how control groups share a processor between programs that only compute"}
"""Why a file of tests does not end."""
OPTIONS = {"test_tree1024": ("--memory", "2048", "--limit", "120")}
_FAILED = re.compile(r"^(?:FAIL|ERROR): \w+ \(\w+\.(\w+)", re.MULTILINE)


def files() -> list[Path]:
    """Of both suites."""
    folders = [images.load(index.LAB).rootfs / EXAMPLES]
    if source := os.environ.get("MININET_SOURCE"):
        folders.append(Path(source) / "mininet" / "test")
    return [file for folder in folders for file in sorted(folder.glob("test_*.py"))]


@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_of_mininet(file: Path, tmp_path: Path) -> None:
    command = [TESTBED, "exec", "--into", tmp_path / "results", *OPTIONS.get(file.stem, ()), file, "-v"]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    failed = {match[1] for match in _FAILED.finditer(said)}
    classes = set(re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE))
    if not re.search(r"^Ran \d+ test", said, re.MULTILINE):
        failed = classes  # they did not end
    assert failed == (classes if file.stem in ENDLESS else classes & FAILS.keys()), said
