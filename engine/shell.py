"""A guest in real time with Mininet's command line, for looking around in a scenario's network."""

import json
import subprocess
import tempfile
from pathlib import Path

from engine import images, launch
from engine.pin import free_cpu
from engine.sandbox import Limits
from engine.scenario import Cell, implementations, resolve


def shell(cell: Cell) -> int:
    """Boot the network of `cell` without flows and hand over the terminal; returns the guest's exit status."""
    boot = images.load()
    run = resolve(cell, 1) | {"backend": "virtual", "clocks": []}  # no flow that could show one
    known = implementations.known()
    run["implementations"] = {flow["implementation"]: known[flow["implementation"]] for flow in run["flows"]}
    arguments = launch.boot_arguments(boot, 1, "engine.guest.shell", real_time=True)
    with tempfile.TemporaryDirectory(prefix="testbed-shell-") as folder, free_cpu() as cpu:
        (Path(folder) / "run.json").write_text(json.dumps(run))
        command = launch.command(boot, Path(folder), cpu, arguments, Limits(), interactive=True)
        return subprocess.run(command, check=False).returncode
