"""Runs inside a guest with the debug kernel: loads the tests and runs them for each mutant, and leaves what noticed it.

A mutant that crashes the kernel or never ends takes the guest with it; what it left tells at which that was.
"""

import json
import re
import subprocess
from pathlib import Path

RESULTS = Path("/results")
LEFT = RESULTS / "logs" / "mutants.json"
MODULE = "tcp_ledbat_test"
UNCHANGED = -1
A_WHILE_NS = 60 * 10**9  # what a mutant counts as, for who watches the guest's time
FAILED = re.compile(r"^    not ok \d+ (\S+)", re.MULTILINE)
PASSED = re.compile(r"^    ok \d+ \S+", re.MULTILINE)


def outcome(number):
    """The cases that fail with a mutant in force, and how many pass."""
    subprocess.run(["dmesg", "--clear"], check=True)
    Path(f"/sys/module/{MODULE}/parameters/mutant").write_text(str(number))
    said = subprocess.run(["dmesg", "--notime"], capture_output=True, text=True, check=True).stdout
    return FAILED.findall(said), len(PASSED.findall(said))


def main():
    """Leave {"unchanged": all passed, "begun": number, "outcomes": {number: names}}."""
    subprocess.run(["insmod", RESULTS / f"{MODULE}.ko"], check=True)
    left = {"unchanged": False, "begun": UNCHANGED, "outcomes": {}}
    failed, count = outcome(UNCHANGED)
    left["unchanged"] = count > 0 and not failed
    for index, number in enumerate(json.loads((RESULTS / "wanted.json").read_text()), 1):
        left["begun"] = number
        (RESULTS / "heartbeat").write_text(str(index * A_WHILE_NS))
        draft = LEFT.with_suffix(".draft")
        draft.write_text(json.dumps(left))
        draft.rename(LEFT)
        failed, count = outcome(number)
        if failed:
            # what a mistake leaves behind must not be the next one's
            after, count = outcome(UNCHANGED)
            count = 0 if after else count
        left["outcomes"][number] = ", ".join(failed)
        if not count:
            break
    LEFT.write_text(json.dumps(left))


if __name__ == "__main__":
    main()
