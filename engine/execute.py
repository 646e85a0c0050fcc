"""Carries out one run: run.json in, a whole run folder out, or a sentence why not."""

import errno
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from engine import images, launch, provenance, watch
from engine.errors import EngineError
from engine.guest.timeline import ORIGIN_NS
from engine.pin import free_cpu
from engine.scenario import Cell, implementations, resolve

AGENT = "engine.guest.agent"
_CAPTURED_BYTES = 16 + 96  # record header and snap length
_PACKET_BITS = 1500 * 8
_SPARE_BYTES = 64 << 20


def run_folder(into: Path, cell: Cell, seed: int) -> Path:
    """Where the run's folder ends up."""
    return into / cell.study / cell.experiment / cell.name / f"seed-{seed}"


def execute(cell: Cell, seed: int, into: Path) -> dict[str, Any]:
    """Run `cell` with `seed`; returns the summary.

    The folder appears under its name only when the run succeeded; what a failed run left is kept beside it as
    ``failed-seed-<n>``.

    Raises:
        EngineError: the run failed; the sentence says why and where its logs are.
    """
    folder = run_folder(into, cell, seed)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    failed = folder.with_name(f"failed-{folder.name}")
    run = resolve(cell, seed)
    try:
        _make_folders(partial, failed)
        _check_space(partial, run)
        summary = _run_guest(partial, run, seed)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
        return summary
    except EngineError as error:
        partial.rename(failed)
        raise EngineError(f"{error} (logs in {failed}/logs)") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise EngineError(f"{into}: no space left on the disk") from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT):
            raise EngineError(
                f"{error.filename}: cannot be written ({error.strerror}); choose another --into"
            ) from None
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _make_folders(partial: Path, failed: Path) -> None:
    """Make the run's folders; remove what a failed run, or one whose process was killed, has left."""
    own = partial.name.removesuffix(f"{os.getpid()}.partial")
    dead = [
        folder
        for folder in partial.parent.glob(f"{own}*.partial")
        if folder == partial or not Path("/proc", folder.name.split(".")[-2]).exists()
    ]
    for leftover in (*dead, failed):
        shutil.rmtree(leftover, ignore_errors=True)
    for name in ("pcap", "traces", "logs"):
        (partial / name).mkdir(parents=True)


def _check_space(folder: Path, run: dict[str, Any]) -> None:
    """Captures are what fills a disk: both directions of a full link at every tap."""
    packets = run["bottleneck"]["rate_bps"] / _PACKET_BITS * run["duration_ns"] / 1e9
    needed = _SPARE_BYTES + int(2 * packets * len(run["captures"]) * _CAPTURED_BYTES)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EngineError(f"{folder.parent}: {free >> 20} MiB free, this run may need {needed >> 20} MiB")


def _run_guest(folder: Path, run: dict[str, Any], seed: int) -> dict[str, Any]:
    boot = images.load()
    arguments = launch.boot_arguments(boot, seed, AGENT)
    known = implementations.known()
    run["origin_ns"] = ORIGIN_NS
    run["implementations"] = {name: known[name] for name in sorted({flow["implementation"] for flow in run["flows"]})}
    used = {
        name: images.program(name)
        for name, implementation in run["implementations"].items()
        if implementation["kind"] == "program"
    }
    run["provenance"] = provenance.of(boot, used, arguments)
    (folder / "run.json").write_text(json.dumps(run, indent=1))

    with free_cpu() as cpu:
        started = time.monotonic()
        status = watch.run(launch.command(boot, folder, cpu, arguments, programs=used), folder)
        wall_s = time.monotonic() - started

    outcome = _outcome(folder, status)
    summary = {
        "status": outcome["status"],
        "error": outcome["error"],
        "virtual_s": outcome["virtual_ns"] / 1e9,
        "wall_s": wall_s,
        **{name: outcome.get(name) for name in ("ended_ns", "versions", "audit", "probe", "flows", "counters")},
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))
    if summary["status"] != "ok":
        raise EngineError(summary["error"])
    return summary


def _outcome(folder: Path, status: int) -> dict[str, Any]:
    path = folder / "guest.json"
    try:
        outcome: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        console = (folder / "logs" / "console.log").read_text(errors="replace").strip().splitlines()
        words = [line for line in console if not line.startswith("reboot:")]
        last = words[-1] if words else "its console says nothing"
        raise EngineError(f"the guest ended with status {status} before its agent was done: {last}") from None
    path.unlink()
    (folder / "heartbeat").unlink(missing_ok=True)
    return outcome
