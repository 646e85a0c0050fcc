"""A guest in real time with Mininet's command line, for looking around in a scenario's network."""

import json

from engine import handover, images, launch, watch
from engine.cpu_claims import free_cpu
from engine.sandbox import Limits
from engine.sizes import sizes
from scenarios import implementations
from scenarios.resolve import Cell, resolve


def shell(cell: Cell) -> int:
    """Boot the network of `cell` without flows and hand over the terminal; returns the guest's exit status."""
    boot = images.load()
    run = resolve(cell, 1) | {"backend": "virtual", "clocks": []}  # no flow that could show one
    known = implementations.known()
    run["implementations"] = {flow["implementation"]: known[flow["implementation"]] for flow in run["flows"]}
    run["sizes"] = sizes(run)
    memory_mib = run["sizes"]["memory_mib"]
    arguments = launch.boot_arguments(boot, 1, "engine.guest.shell", real_time=True, memory_mib=memory_mib)
    limits = Limits(guest_memory_mib=memory_mib)
    with handover.scratch("shell") as folder, free_cpu() as cpu:
        (folder / "run.json").write_text(json.dumps(run))
        command = launch.command(boot, folder, cpu, arguments, limits, interactive=True)
        return watch.run_at_terminal(command, folder, limits)
