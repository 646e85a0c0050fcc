"""Carries out one run: run.json in, a whole run folder out, or a sentence why not."""

import contextlib
import copy
import errno
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from engine import backends, handover
from engine.errors import EngineError
from engine.files import digests
from engine.pin import all_cpus, free_cpu
from engine.sandbox import STAGE, Limits
from engine.scenario import Cell, resolve

_CAPTURED_BYTES = 16 + 96  # record header and snap length
_PACKET_BITS = 1500 * 8
_SAMPLE_BYTES = 128  # a row of a trace
_SPARE_BYTES = 64 << 20
_QUOTA_OF_NEED = 4  # small packets, chatty clients: a run may take more than expected, but not the disk
_LONGEST_OUTCOME_BYTES = 16 << 20
_TAIL_BYTES = 4096


def run_folder(into: Path, cell: Cell, seed: int) -> Path:
    """Where the run's folder ends up."""
    return into / cell.study / cell.experiment / cell.name / f"seed-{seed}"


def execute(cell: Cell, seed: int, into: Path, backend: str = "virtual") -> dict[str, Any]:
    """Run `cell` with `seed` on a backend; returns the summary.

    The folder appears under its name only when the run succeeded; what a failed run left is kept beside it as
    ``failed-seed-<n>``.

    Raises:
        EngineError: the run failed; the sentence says why and where its logs are.
    """
    folder = run_folder(into, cell, seed)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    failed = folder.with_name(f"failed-{folder.name}")
    run = resolve(cell, seed) | {"backend": backend}
    used = sorted({flow["implementation"] for flow in run["flows"]})
    run["implementations"] = copy.deepcopy({name: cell.known[name] for name in used})
    try:
        _make_folders(partial, failed)
        limits = Limits(disk_bytes=_QUOTA_OF_NEED * _check_space(partial, run))
        summary = _run_guest(partial, run, limits)
        _rename(partial, folder)
        return summary
    except EngineError as error:
        _rename(partial, failed)
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
        handover.remove(partial)


def _rename(partial: Path, name: Path) -> None:
    """Give a folder its name, in place of what has it; another process may do the same with the same run."""
    while True:
        handover.remove(name)
        try:
            partial.rename(name)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return


def _make_folders(partial: Path, failed: Path) -> None:
    """Make the run's folders; remove what a failed run, or one whose process was killed, has left."""
    own = partial.name.removesuffix(f"{os.getpid()}.partial")
    dead = [
        folder
        for folder in partial.parent.glob(f"{own}*.partial")
        if folder == partial or not Path("/proc", folder.name.split(".")[-2]).exists()
    ]
    for leftover in (*dead, failed):
        handover.remove(leftover)
    for name in ("pcap", "traces", "logs"):
        (partial / name).mkdir(parents=True)


def _check_space(folder: Path, run: dict[str, Any]) -> int:
    """Bytes that the run may need, which must be free. Captures are what fills a disk: both directions at every tap.

    Raises:
        EngineError: there is less.
    """
    fastest_bps = max([run["bottleneck"]["rate_bps"], *(event.get("rate_bps", 0) for event in run["events"])])
    packets = fastest_bps / _PACKET_BITS * run["duration_ns"] / 1e9
    samples = (len(run["flows"]) + 1) * run["duration_ns"] / run["sample_ns"]
    needed = _SPARE_BYTES + int(2 * packets * len(run["captures"]) * _CAPTURED_BYTES + samples * _SAMPLE_BYTES)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EngineError(f"{folder.parent}: {free >> 20} MiB free, this run may need {needed >> 20} MiB")
    return needed


def _run_guest(folder: Path, run: dict[str, Any], limits: Limits) -> dict[str, Any]:
    guest = backends.prepare(run)
    run["provenance"] = guest.provenance

    with all_cpus() if guest.alone else free_cpu() as cpu:
        run["origin_ns"] = guest.origin_ns()
        description = json.dumps(run, indent=1)
        (folder / "run.json").write_text(description)
        started = time.monotonic()
        try:
            status = guest.execute(folder, cpu, limits)
        except EngineError:
            with contextlib.suppress(EngineError):  # why it was ended comes first
                handover.accept(folder, limits)
            raise
        handover.remove(folder / STAGE)
        handover.accept(folder, limits)
        wall_s = time.monotonic() - started

    (folder / "run.json").write_text(description)  # what this side knows, whatever the guest made of it
    outcome = _outcome(folder, status)
    summary = {
        "status": outcome["status"],
        "error": outcome["error"],
        "virtual_s": outcome["virtual_ns"] / 1e9,
        "wall_s": wall_s,
        # before anybody throws the captures away: what a repeated run must give
        "digests": digests(folder, "pcap", "traces"),
        **{name: outcome.get(name) for name in ("ended_ns", "versions", "audit", "probe", "flows", "counters")},
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))
    if summary["status"] != "ok":
        raise EngineError(summary["error"])
    return summary


def _outcome(folder: Path, status: int) -> dict[str, Any]:
    """What the agent says about the run. A guest may have written anything there."""
    path = folder / "guest.json"
    try:
        if path.stat().st_size > _LONGEST_OUTCOME_BYTES:
            raise ValueError("too long")
        outcome: dict[str, Any] = json.loads(path.read_text())
        if outcome["status"] not in ("ok", "failed") or not isinstance(outcome["error"], str | None):
            raise ValueError("no outcome")
        outcome["virtual_ns"] = int(outcome["virtual_ns"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise EngineError(
            f"the guest ended with status {status} before its agent was done: {_last_words(folder)}"
        ) from None
    path.unlink()
    (folder / "heartbeat").unlink(missing_ok=True)
    return outcome


def _last_words(folder: Path) -> str:
    with (folder / "logs" / "console.log").open("rb") as console:
        console.seek(max(0, console.seek(0, os.SEEK_END) - _TAIL_BYTES))
        lines = console.read().decode(errors="replace").strip().splitlines()
    words = [line for line in lines if not line.startswith("reboot:")]
    return words[-1] if words else "its console says nothing"
