"""Runs programs in the place of a guest's kernel; tells how each was ended, and what was left, as a line of JSON.

    python3 attacked.py ATTACK...

It is called on the machine that tests/reach/test_scope.py boots.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from engine import cgroup, sandbox, watch
from engine.errors import EngineError
from engine.images import Images
from engine.sandbox import Limits

ATTACK, TOOLS, NOTHING = Path("/attack"), Path("/tools"), Path("/srv")
LIMITS = Limits(disk_bytes=32 << 20, guest_memory_mib=16, memory_bytes=64 << 20, processes=60)


def _ended(attack: str) -> str:
    images = Images(ATTACK, NOTHING, TOOLS, {}, False, {"rootfs": {"digest": ""}})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        command = sandbox.command(images, {}, folder, [sandbox.KERNEL, attack], LIMITS, {})
        try:
            status = watch.run(command, folder, LIMITS)
        except EngineError as error:
            return str(error)
        console = (folder / "logs" / "console.log").read_text(errors="replace")
        return f"status {status}: {console}"


def _left() -> list[str]:
    """Processes that are there at the end, and groups that are there after a moment: systemd removes its own."""
    processes = [path.read_text() for path in Path("/proc").glob("[0-9]*/comm") if path.exists()]
    left = [name for name in processes if name.strip() in ("linux", "hidden", "bwrap")]
    deadline = time.monotonic() + 10
    while groups := [str(path) for path in Path("/sys/fs/cgroup").rglob("testbed-*")]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return left + groups


if __name__ == "__main__":
    vars(sandbox)["guest_code"] = lambda *_: NOTHING
    for each in sys.argv[1:]:
        told = {"bound": cgroup.described(), "attack": each, "ended": _ended(each), "left": _left()}
        print(json.dumps(told), flush=True)
