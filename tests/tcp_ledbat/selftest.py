"""Runs inside a guest: the kernel's own test of tcp_ledbat, with the module that lies beside it."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LOGS = Path("/results/logs")


def main() -> None:
    """Leave what the test says in logs/selftest.txt, and its exit status in logs/status.txt."""
    subprocess.run(["insmod", HERE / "tcp_ledbat.ko"], check=True)
    with (LOGS / "selftest.txt").open("w") as said:
        done = subprocess.run([sys.executable, HERE / "tcp_ledbat.py"], stdout=said, check=False)
    (LOGS / "status.txt").write_text(str(done.returncode))


if __name__ == "__main__":
    main()
