"""Many short runs in a row, on all cores, and what they leave.

`python -m tests.trust.long_runs COUNT`; `make trial NAME=long-runs` does ten thousand.
"""

import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine import cpu_slots, handover
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve

SCENARIO = """\
experiment: short
title: The shortest run
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 1mbit, buffer: 10p}
delay: {forward: 1ms, backward: 1ms}
flows: [{name: tcp, implementation: tcp-reno, from: s1, to: d1}]
duration: 1s
captures: [bottleneck-out]
"""


def left_behind() -> dict[str, int]:
    """What there is now of everything that a run takes of its host."""
    return {
        "children": len(_children(os.getpid())),
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "mounts": len(Path("/proc/self/mounts").read_text().splitlines()),
        "files in /dev/shm": len(os.listdir("/dev/shm")),  # noqa: PTH208
        "files for temporary use": len(os.listdir(tempfile.gettempdir())),  # noqa: PTH208
        "CPUs claimed": _claimed(),
    }


def _claimed() -> int:
    with cpu_slots._holders([cpu_slots._name(cpu) for cpu in cpu_slots._online()]) as holders:
        return sum(cpu_slots._who(holder).startswith(f"{os.getpid()} ") for holder in holders)


def memory_kib() -> int:
    """Memory of this process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 10


def _children(process: int) -> list[int]:
    try:
        direct = [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return direct + [descendant for child in direct for descendant in _children(child)]


def long_run(count: int, folder: Path) -> tuple[dict[str, int], dict[str, int], int]:
    """Carry out `count` runs; as many at once as there are cores.

    Returns what there was after the first of each core and after the last run, and how many KiB were gained.
    """
    scenario = folder / "long" / "short.yaml"
    scenario.parent.mkdir()
    scenario.write_text(SCENARIO)
    (cell,) = expand(scenario, "complete")

    def carry_out(seed: int) -> None:
        assert execute(resolve(cell, seed), folder)["digests"]
        handover.remove(run_folder(folder, cell, seed))

    cores = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(carry_out, range(1, cores + 1)))  # what is loaded once has been
        before, kib, started = left_behind(), memory_kib(), time.monotonic()
        for first in range(cores + 1, count + 1, 1000):
            last = min(first + 999, count)
            list(pool.map(carry_out, range(first, last + 1)))
            print(f"{last} runs in {time.monotonic() - started:.0f} s: {left_behind()}, {memory_kib()} KiB", flush=True)
    return before, left_behind(), memory_kib() - kib


def main() -> None:
    """Carry out as many runs as the first argument says, and say what they left."""
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        before, after, gained_kib = long_run(count, Path(folder))
    print(f"{count} runs; before and after:")
    for name, number in before.items():
        print(f"  {name}: {number} {after[name]}")
    print(f"  memory gained: {gained_kib} KiB")


if __name__ == "__main__":
    main()
