"""Labs on Debian's stock kernel in QEMU, beside `testbed exec`: `python -m tests.exec.stock_labs LAB...`.

The same root file system boots on both. On the stock kernel each instruction takes 1 ns, so that computing takes time.
"""

import argparse
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine import images
from exec import packages
from tests.exec import collection
from tests.exec.collection import LABS, Expected, Outcome, row
from tests.reach import machine

LIMIT_S = 7200
_SIZE_GIB = 4
_PYTHON = "usr/local/lib/python3.13/dist-packages"
# Open vSwitch counts processors only after 10 s, and drops all packets if it starts before
_INIT = """\
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root SHELL=/bin/bash LANG=C.UTF-8 NO_COLOR=1
mount -t proc proc /proc; mount -t sysfs sysfs /sys
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run; mount -t tmpfs tmpfs /tmp
ip link set lo up
sleep 11
/usr/share/openvswitch/scripts/ovs-ctl --no-monitor --system-id=random start >/out/switches 2>&1
for lab in {names}; do
  mkdir /work; cd /work
  setsid python3 /script/$lab.py </dev/null >/out/$lab.txt 2>&1
  echo $? >/out/$lab.status
  mn -c >/dev/null 2>&1
  cd /; rm -r /work
done
sync; echo o >/proc/sysrq-trigger; sleep 60
"""


def run(names: Sequence[str], expected: Mapping[str, Expected], place: Path) -> list[Outcome]:
    """Run labs one after the other on one machine, with the packages of all."""
    files = [LABS / f"{name}.py" for name in names]
    deb = tuple(sorted({package for name in names for package in expected[name].deb}))
    pip = tuple(
        sorted({requirement for file in files for requirement in packages.requirements_of(file, LABS).requirements})
    )
    lab = packages.load(deb, pip)
    kernel = images.stock()["kernel"]
    release, vmlinuz = kernel["release"], kernel["path"]
    root, disk = place / "root", place / "disk"
    shutil.copytree(lab.images.rootfs, root, symlinks=True)
    shutil.copytree(vmlinuz.parents[1] / "usr/lib/modules" / release, root / "usr/lib/modules" / release, symlinks=True)
    if lab.python:
        shutil.copytree(lab.python, root / _PYTHON, dirs_exist_ok=True)
    shutil.copytree(LABS, root / "script")
    (root / "out").mkdir()
    machine.write_program(root, "vehicle", _INIT.format(names=" ".join(names)))
    machine.make_disk(root, disk, _SIZE_GIB)
    shutil.rmtree(root)
    machine.carry_out(vmlinuz, vmlinuz.with_name(f"initrd.img-{release}"), disk, "/vehicle", LIMIT_S)
    out = machine.take(disk, "out", place)
    return [_outcome(name, out, expected[name]) for name in names]


def _outcome(name: str, out: Path, expected: Expected) -> Outcome:
    outcome = Outcome(name, math.nan)
    status = int((out / f"{name}.status").read_text())
    said = {"exit_status": status, "virtual_s": math.nan, "missing": []}
    collection.judge(outcome, (out / f"{name}.txt").read_text(errors="replace"), said, expected)
    return outcome


def main() -> int:
    """Print a table of both; 0 if all labs passed on both."""
    parser = argparse.ArgumentParser(prog="python -m tests.exec.stock_labs", description="Labs on two kernels.")
    parser.add_argument("lab", nargs="+", help="names without .py")
    names = parser.parse_args().lab
    expected = collection.expectations(LABS)
    with tempfile.TemporaryDirectory(prefix="testbed-labs-") as place:
        stock = run(names, expected, Path(place))
        here = list(collection.run_all(LABS, names, Path(place)))
    print(row("lab", "testbed exec", "stock kernel", "allowed", "because"), row(*["---"] * 5), sep="\n")
    for ours, stocks in zip(here, stock, strict=True):
        print(row(ours.name, ours.verdict, stocks.verdict, "", ""))
        for mine, theirs in zip(ours.numbers, stocks.numbers, strict=True):
            print(row("", mine.printed, theirs.printed, mine.bounds, mine.expected.because))
    return 1 if any(outcome.failures for outcome in (*here, *stock)) else 0


if __name__ == "__main__":
    sys.exit(main())
