"""Carries out `testbed shell`: Mininet's command line in a scenario's network, in a guest in real time."""

import json

from engine import handover, images, launch, watch
from engine.backends import virtual
from engine.cpu_slots import free_cpu
from engine.sandbox import Limits
from scenarios.resolve import Cell, changed, resolve


def shell(cell: Cell) -> int:
    """Boot the network of `cell` without flows and hand over the terminal; return the guest's exit status."""
    boot = images.load()
    # without clocks, which no flow would show
    run = changed(resolve(cell, 1), clocks=[])
    run["agent"] = virtual.agent(run)
    memory_mib = run["sizes"]["memory_mib"]
    arguments = launch.boot_arguments(boot, 1, "engine.guest.shell", real_time=True, memory_mib=memory_mib)
    limits = Limits(guest_memory_mib=memory_mib)
    with handover.scratch("shell") as folder, free_cpu() as cpu:
        (folder / "run.json").write_text(json.dumps(run))
        command = launch.command(boot, folder, cpu, arguments, limits, interactive=True)
        return watch.run_at_terminal(command, folder, limits)
