"""Carries out one run: writes run.json, boots a guest, and leaves a complete run folder or a sentence why not."""

import contextlib
import copy
import errno
import json
import os
import re
import resource
import shutil
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from common import files, sums
from engine import backends, handover, outcome, recorder
from engine.cpu_slots import all_cpus, free_cpu
from engine.errors import EngineError
from engine.guest.captures import SNAP_BYTES
from engine.recorder import Recording
from engine.sandbox import STAGE, Limits, refuse_small_limits
from scenarios.plan import captures, extremes
from scenarios.resolve import Cell
from scenarios.run_files import FAILED, OF_RUN, PACKET_BYTES

_CAPTURED_BYTES = 16 + SNAP_BYTES  # a record with its header
_SHARE_PACKED = 0.5  # a quarter, measured over all studies
_SAMPLE_BYTES = 128  # a row of a trace
_SPARE_BYTES = 64 << 20
_SPARE_FILES, _FILES_OF_FLOW = 64, 16
_QUOTA_OF_NEED = 4  # small packets, chatty clients: a run may take more than expected, but not fill the disk
_AUDIT_OF_CAPTURES = "captures agree with interface counters in packets and bytes; "
_TAIL_BYTES = 4096
_MADE = ("pcap", "traces")  # what a repeated run must reproduce
_ABOUT_CAPTURES = ("captures", "keep_captures")  # of run.json: what is kept makes no difference in the guest
_ENDED, _AGENT_ENDED = "reboot:", "init: the agent ended"  # what comes before them says why, if anything does
_KILLED = re.compile(r"Out of memory: Killed process \d+ \(([^()]{1,15})\)")  # as Linux's mm/oom_kill.c says it


def run_folder(into: Path, cell: Cell, seed: int) -> Path:
    """Return where the run's folder ends up."""
    return into / cell.study / cell.experiment / cell.name / f"seed-{seed}"


def folder_of(into: Path, run: dict[str, Any]) -> Path:
    """Return where the folder of a resolved run ends up."""
    return Path(into, run["study"], run["experiment"], run["cell"], f"seed-{run['seed']}")


def execute(run: dict[str, Any], into: Path, keep: Sequence[str] = recorder.BOTTLENECK) -> dict[str, Any]:
    """Carry out a run, in whose run.json everything is decided; return the summary.

    The packets at the taps `keep` are captured, whatever the scenario asks for, where that makes no difference in the
    guest.

    The folder appears under its name only if the run succeeds. What a failed run leaves is kept beside it as
    ``failed-seed-<n>``.

    Raises:
        EngineError: the run failed; the sentence says why and where its logs are.
    """
    run = copy.deepcopy(run)  # what only images tell is added here
    folder = folder_of(into, run)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    failed = folder.with_name(f"{FAILED}{folder.name}")
    try:
        _make_folders(partial, failed)
        wanted = recorder.wanted(run, keep)
        guest_bytes, recorder_bytes = _check_space(partial, run, wanted)
        refuse_small_limits(max(guest_bytes, recorder_bytes))
        limits = Limits(disk_bytes=guest_bytes, guest_memory_mib=run["sizes"]["memory_mib"])
        summary = _run_guest(partial, run, limits, wanted, recorder_bytes)
        loose = () if run["keep_captures"] else ("pcap", "traces")
        _rename(partial, folder, loose)
        return summary
    except EngineError as error:
        _note_failure(partial, run, str(error))
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
        handover.remove(_recorded(partial))


def _recorded(partial: Path) -> Path:
    """Return the folder of what is recorded of a run: beside its own, which the guest can write into."""
    return partial.with_name(f"{partial.name.removesuffix('.partial')}.recorded.{os.getpid()}.partial")


def _note_failure(partial: Path, run: dict[str, Any], why: str) -> None:
    """Record why a run failed, even if the guest did not live to report it, and vouch for the run's description."""
    summary = partial / "summary.json"
    try:
        with summary.open("x") as file:  # what the guest left, if anything, is not followed
            json.dump({"status": "failed", "error": why}, file, indent=1)
        known = {summary.name: sums.digest(summary)}
        if "origin_ns" in run:  # it had begun, and its guest may have written here
            handover.remove(partial / "run.json")
            (partial / "run.json").write_text(json.dumps(run, indent=1))
            known["run.json"] = sums.digest(partial / "run.json")
        sums.write(partial, known)
    except FileExistsError:
        return
    except OSError:  # a full disk has no room for the reason either; the caller reports it anyway
        summary.unlink(missing_ok=True)


def _rename(partial: Path, name: Path, loose: Collection[str] = ()) -> None:
    """Rename a folder, replacing what has that name; another process may do the same with the same run.

    The subfolders `loose` become columns soon, and if a power cut comes first, their sums tell.
    """
    aside = name.with_name(f".{name.name}.old.{os.getpid()}.partial")
    while True:
        with contextlib.suppress(FileNotFoundError):
            name.rename(aside)  # removing takes long, and meanwhile neither folder would exist
        try:
            files.give_name(partial, name, loose)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return
        finally:
            handover.remove(aside)


def _make_folders(partial: Path, failed: Path) -> None:
    """Make the run's folders; remove what a failed or killed run left."""
    own = partial.name.removesuffix(f"{os.getpid()}.partial")
    dead = [
        folder
        for folder in partial.parent.glob(f"{own}*.partial")
        if folder == partial or not Path("/proc", folder.name.split(".")[-2]).exists()
    ]
    for leftover in (*dead, failed):
        handover.remove(leftover)
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.mkdir(mode=0o700)  # until the guest's files have plain modes, nobody else may execute one
    for name in handover.FOLDERS:
        (partial / name).mkdir()


def _check_space(folder: Path, run: dict[str, Any], wanted: list[recorder.RecordedTap]) -> tuple[int, int]:
    """Return the bytes that the guest may take, and its recorder. Most are for captures: both directions at every tap.

    Raises:
        EngineError: fewer are free than that run should need.
    """
    packets = extremes.busiest_bps(run) / (8 * PACKET_BYTES) * run["duration_ns"] / 1e9
    of_tap_bytes = 2 * packets * _CAPTURED_BYTES
    shares = {capture.tap: _SHARE_PACKED if capture.packed else 1.0 for capture in wanted}
    captures_bytes = int(of_tap_bytes * sum(shares.values()))
    samples = (len(run["flows"]) + 1) * run["duration_ns"] / run["sample_ns"]
    guest_bytes = _SPARE_BYTES + int(samples * _SAMPLE_BYTES)
    needed = guest_bytes + captures_bytes
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EngineError(f"{folder.parent}: {free >> 20} MiB free, this run may need {needed >> 20} MiB")
    room = os.statvfs(folder)
    files = _SPARE_FILES + _FILES_OF_FLOW * len(run["flows"]) + len(wanted)
    if room.f_files and room.f_favail < files:  # some file systems have no such bound
        raise EngineError(f"{folder.parent}: room for {room.f_favail} files, this run may need {files}")
    if not captures.recorded(run):
        guest_bytes, captures_bytes = needed, 0
    return _QUOTA_OF_NEED * guest_bytes, _QUOTA_OF_NEED * (captures_bytes + _SPARE_BYTES)


def _run_guest(
    folder: Path, run: dict[str, Any], limits: Limits, wanted: list[recorder.RecordedTap], recorder_bytes: int
) -> dict[str, Any]:
    guest = backends.prepare(run)
    of_guest = [] if captures.recorded(run) else [capture.name for capture in wanted]
    run["provenance"] = guest.provenance

    with all_cpus() if guest.alone else free_cpu(guest.memory_mib) as cpu:
        run["origin_ns"] = guest.origin_ns(run["lead"]["probe_ns"])
        in_guest = {name: value for name, value in run.items() if name not in _ABOUT_CAPTURES}
        (folder / "run.json").write_text(json.dumps(in_guest, indent=1))
        from_ns = run["origin_ns"] - run["lead"]["endpoints_ns"]
        recording = Recording([] if of_guest else wanted, from_ns, _recorded(folder), recorder_bytes)
        started, before_s = time.monotonic(), _cpu_of_children_s()
        try:
            status = guest.execute(folder, cpu, limits, recording)
        except EngineError:
            with contextlib.suppress(EngineError):  # why it was ended comes first
                handover.accept(folder, limits, _declared(run, of_guest))
            recording.move(folder)
            raise
        handover.remove(folder / STAGE)
        handover.accept(folder, limits, _declared(run, of_guest))
        recording.move(folder)
        wall_s, cpu_s = time.monotonic() - started, _cpu_of_children_s() - before_s

    (folder / "run.json").write_text(json.dumps(run, indent=1))  # the host's version, whatever the guest made of it
    said = _outcome(folder, status)
    captured = said.get("captured", {}) if of_guest else recording.captured
    if said["status"] == "ok":
        try:
            if not of_guest:
                captured = recording.until(run["origin_ns"] + said["counted_ns"], folder)
            recorder.check(wanted, captured, said["counters"]["interfaces"])
        except EngineError as error:
            said |= {"status": "failed", "error": str(error)}
    summary = {
        "status": said["status"],
        "error": said["error"] and said["error"] + _out_of_memory(folder, guest.memory_mib),
        "virtual_s": said["virtual_ns"] / 1e9,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        # what a repeated run must reproduce, recorded before captures are removed
        "digests": sums.below(folder, *_MADE),
        "audit": said.get("audit") and _AUDIT_OF_CAPTURES * bool(wanted) + said["audit"],
        "captured": captured,
        **{name: said.get(name) for name in ("ended_ns", "versions", "probe", "flows", "counters", "latest_event_ns")},
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))
    sums.write(folder, summary["digests"] | {name: sums.digest(folder / name) for name in OF_RUN})
    if summary["status"] != "ok":
        raise EngineError(summary["error"])
    return summary


def _cpu_of_children_s() -> float:
    """Return the CPU time of the processes that this one has started and that have ended, with all below them, in s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _declared(run: dict[str, Any], captures_of_guest: list[str]) -> dict[str, list[str] | None]:
    """Return the folders that a run leaves, with the names of their files: captures and traces are the scenario's."""
    queues = [queue["trace"] for queue in run["network"]["queues"].values()]
    traces = ["events", *queues, *(f"cwnd-{flow['name']}" for flow in run["flows"])]
    return {
        "pcap": captures_of_guest,
        "traces": [f"{trace}.csv" for trace in traces],
        "logs": None,
    }


def _outcome(folder: Path, status: int) -> dict[str, Any]:
    """Return what the agent reports of the run."""
    path = folder / "guest.json"
    said = outcome.read(path, outcome.RUN)
    if said is None:
        raise EngineError(f"the guest ended with status {status} before its agent was done: {_last_words(folder)}")
    path.unlink()
    (folder / "heartbeat").unlink(missing_ok=True)
    return said


def _console(folder: Path) -> list[str]:
    """Return the last lines of the guest's console."""
    try:
        with (folder / "logs" / "console.log").open("rb") as console:
            console.seek(max(0, console.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return console.read().decode(errors="replace").strip().splitlines()
    except FileNotFoundError:  # the guest has removed it
        return []


def _out_of_memory(folder: Path, memory_mib: int) -> str:
    """Return what there is to add to a failure if the guest's kernel killed a process for its memory, or nothing."""
    killed = [match[1] for line in _console(folder) if (match := _KILLED.match(line))]
    return f"; the guest's memory of {memory_mib} MiB ran out, and its kernel killed {killed[0]}" if killed else ""


def _last_words(folder: Path) -> str:
    lines = _console(folder)
    panics = [line for line in lines if line.startswith("Kernel panic")]
    said = [line for line in lines if not line.startswith(_ENDED)]
    words = panics[:1] or [line for line in said if not line.startswith(_AGENT_ENDED)] or said or lines
    return words[-1] if words else "its console says nothing"
