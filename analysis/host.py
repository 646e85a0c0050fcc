"""What kind of machine this is, without its name: reports tell the results of two machines apart by it."""

import os
import platform
from pathlib import Path


def describe() -> str:
    """Give number and model of the processors, and the kernel: "2 x AMD EPYC 7763, Linux 6.1.0, x86_64"."""
    return f"{os.cpu_count()} x {_processor()}, {platform.system()} {platform.release()}, {platform.machine()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown processor")
