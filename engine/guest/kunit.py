"""Loads the test modules, which run their cases, and saves what the kernel printed."""

import subprocess
from pathlib import Path

if __name__ == "__main__":
    for module in sorted(Path("/opt/modules").glob("*_test.ko")):
        subprocess.run(["insmod", module], check=True)
    with open("/results/logs/kernel.log", "w") as log:
        subprocess.run(["dmesg", "--notime"], stdout=log, check=True)
