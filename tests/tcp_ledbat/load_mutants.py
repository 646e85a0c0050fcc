"""Runs inside a guest with the debug kernel: loads the tests of each mutant, and leaves what the kernel printed.

A mutant that crashes the kernel, or lack of memory, ends the guest; what it left tells at which.
"""

import json
import subprocess
from pathlib import Path

RESULTS = Path("/results")
SAID = RESULTS / "logs" / "mutants.json"


def said_by(number, builds):
    """What the kernel prints while the tests run with one mutant switched on."""
    subprocess.run(["dmesg", "--clear"], check=True)
    for test in builds:
        subprocess.run(["insmod", RESULTS / test, f"mutant={number}"], check=True)
        subprocess.run(["rmmod", Path(test).stem], check=False)
    return subprocess.run(["dmesg", "--notime"], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    said = {}
    for number, builds in json.loads((RESULTS / "wanted.json").read_text()):
        (RESULTS / "heartbeat").write_text(str(number))
        said[number] = said_by(number, builds)
        SAID.write_text(json.dumps(said))
