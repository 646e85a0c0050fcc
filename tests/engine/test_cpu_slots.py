"""Which runs may share the host: each guest has its own CPU, a run in real time has the whole host."""

import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from functools import partial
from pathlib import Path

import pytest

from engine import cpu_slots, quota
from engine.errors import EngineError

HOLD = """
import sys, time
from engine import cpu_slots
cpu_slots._NAMES = sys.argv[1]
with cpu_slots.free_cpu() as cpu:
    print(cpu, flush=True)
    time.sleep(1000)
"""


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> str:
    """Do not wait for anything else that runs on this host."""
    monkeypatch.setattr(cpu_slots, "_NAMES", f"testbed-{uuid.uuid4().hex[:8]}")
    return cpu_slots._NAMES


@contextmanager
def holder(names: str, *before: str) -> Iterator[tuple[subprocess.Popen[str], int | None]]:
    """Another process that holds a CPU, or waits for one, and the CPU (None: it waits)."""
    command = [*before, sys.executable, "-c", HOLD, names]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stderr
        readable, _, _ = select.select([process.stdout, process.stderr], [], [], 30)
        yield process, int(process.stdout.readline()) if process.stdout in readable else None
    finally:
        process.kill()
        process.communicate()


def is_free(cpu: int) -> bool:
    with cpu_slots._claimed(cpu_slots._name(cpu)) as claimed:
        return claimed


def test_a_guest_has_one_cpu_to_itself() -> None:
    with cpu_slots.free_cpu() as cpu:
        assert cpu in os.sched_getaffinity(0)
        assert not is_free(cpu)
    assert is_free(cpu)


def test_beside_a_run_in_real_time_there_is_no_cpu_for_another() -> None:
    with cpu_slots.all_cpus():
        assert not any(map(is_free, cpu_slots._online()))
    assert all(map(is_free, cpu_slots._online()))


def test_who_waits_takes_the_first_cpu_that_becomes_free_and_says_who_has_them(own_names: str) -> None:
    """Whichever holder ends, its CPU is taken, at once; the holders are named with process, command and start."""
    reading, writing = os.pipe()
    taken: list[int] = []

    def wait() -> None:
        with cpu_slots.free_cpu() as cpu:
            taken.append(cpu)

    for ends in range(len(os.sched_getaffinity(0))):
        with ExitStack() as others:
            held = [others.enter_context(holder(own_names)) for _ in os.sched_getaffinity(0)]
            with os.fdopen(os.dup(reading)) as told, os.fdopen(os.dup(writing), "w") as errors, redirect_stderr(errors):
                waiting = threading.Thread(target=wait)
                waiting.start()
                said = told.readline()
            assert said.startswith("waiting for a CPU: all are taken; at work: ")
            for process, _ in held:
                assert re.search(rf"{process.pid} \(python\S* -c .*, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\)", said)
            process, cpu = held[ends]
            process.kill()
            waiting.join(timeout=10)
            assert taken.pop() == cpu


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_at_once(own_names: str, end: signal.Signals) -> None:
    with cpu_slots.all_cpus(), holder(own_names) as (waiting, cpu):
        assert cpu is None
        started = time.monotonic()
        waiting.send_signal(end)
        waiting.communicate(timeout=10)
        assert time.monotonic() - started < 1
        assert waiting.returncode == -end


def test_users_do_not_lock_each_other_out(own_names: str) -> None:
    if os.geteuid():
        pytest.skip("takes root, to be two users")
    with holder(own_names, "setpriv", "--reuid=65534", "--clear-groups") as (_, cpu):
        assert cpu is not None
        with cpu_slots._first_free(
            [cpu_slots._name(number) for number in os.sched_getaffinity(0) if number != cpu], ""
        ) as [other]:
            assert other != cpu_slots._name(cpu)
        assert not is_free(cpu)


def test_a_run_in_real_time_waits_for_the_guests_before_it() -> None:
    order = []

    def alone() -> None:
        with cpu_slots.all_cpus():
            order.append("alone")

    with cpu_slots.free_cpu():
        waiting = threading.Thread(target=alone)
        waiting.start()
        order.append("guest")
    waiting.join()
    assert order == ["guest", "alone"]


def test_a_busy_cpu_is_not_chosen_though_nobody_holds_it() -> None:
    """As in a container beside others, whose claims it does not see."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("takes two CPUs")
    ticks = iter([dict.fromkeys(allowed, 100), dict.fromkeys(allowed, 100) | {allowed[-1]: 102}])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_slots, "_idle_ticks", lambda: next(ticks))
        patch.setattr(cpu_slots, "_had", None)
        assert cpu_slots._best_first()[0] == allowed[-1]
        patch.setattr(cpu_slots, "_had", allowed[0])
        assert cpu_slots._best_first()[0] == allowed[0]
    assert cpu_slots._idle_ticks().keys() >= set(allowed)


def test_offline_cpus_leave_gaps(tmp_path: Path) -> None:
    (tmp_path / "online").write_text("0-2,5,8-9\n")
    assert cpu_slots._online(tmp_path / "online") == [0, 1, 2, 5, 8, 9]


def host(folder: Path, *, version: int, cpus: str = "", memory: str = "", available_mib: int = 4096) -> Path:
    """A /proc whose process is in the group /job of control groups of this version, with these limits."""
    top, proc = folder / "a group", folder / "proc"
    (proc / "self").mkdir(parents=True)
    job = top / "job"
    job.mkdir(parents=True)
    place = str(top).replace(" ", "\\040")
    (proc / "meminfo").write_text(f"MemTotal: 9000000 kB\nMemAvailable: {available_mib << 10} kB\n")
    if version == 2:
        (proc / "self/cgroup").write_text("0::/job\n")
        (proc / "self/mountinfo").write_text(f"36 31 0:32 / {place} rw,relatime shared:9 - cgroup2 cgroup2 rw\n")
        files = {"cpu.max": cpus, "memory.max": memory, "memory.current": "314572800"}
        files |= {"memory.stat": "anon 5\ninactive_file 104857600\n"}
    else:
        # as in a container without a group namespace: the mount's root is the group
        (proc / "self/cgroup").write_text("5:memory:/box/job\n4:cpu,cpuacct:/box/job\n0::/\n")
        (proc / "self/mountinfo").write_text(f"36 31 0:32 /box {place} rw,relatime - cgroup cgroup rw,cpu,memory\n")
        quota_us, _, period_us = cpus.partition(" ")
        files = {"cpu.cfs_quota_us": quota_us, "cpu.cfs_period_us": period_us, "memory.limit_in_bytes": memory}
        files |= {"memory.usage_in_bytes": "314572800", "memory.stat": "cache 5\ntotal_inactive_file 104857600\n"}
    for name, text in files.items():
        (job / name).write_text(f"{text}\n")
    return proc


@pytest.mark.parametrize(("version", "none"), [(2, "max"), (1, "-1")])
def test_quotas_and_memory_limits_bound_the_guests(tmp_path: Path, version: int, none: str) -> None:
    mib = 1 << 20
    [group] = quota.groups(host(tmp_path / "both", version=version, cpus="250000 100000", memory=str(1024 * mib)))
    assert (group.cpus, group.memory_bytes, group.free_bytes) == (2.5, 1024 * mib, 824 * mib)
    assert [group.guests(size * mib) for size in (100, 512, 600)] == [2, 2, 1]
    [group] = quota.groups(host(tmp_path / "less", version=version, cpus="50000 100000"))
    assert (group.guests(512 * mib), group.memory_bytes) == (1, None)
    unlimited = "max" if version == 2 else "9223372036854771712"
    assert quota.groups(host(tmp_path / "none", version=version, cpus=f"{none} 100000", memory=unlimited)) == []


def test_a_quota_of_one_cpu_lets_one_guest_run(tmp_path: Path, own_names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proc = host(tmp_path, version=2, cpus="100000 100000")
    monkeypatch.setattr(quota, "groups", partial(quota.groups, proc))
    reading, writing = os.pipe()
    with os.fdopen(reading) as told, os.fdopen(writing, "w") as errors, redirect_stderr(errors):
        with cpu_slots.free_cpu():
            second = threading.Thread(target=lambda: cpu_slots.free_cpu().__enter__())
            second.start()
            assert told.readline().startswith(f"waiting for a CPU: {tmp_path}/a group/job allows 1 at once; at work: ")
        second.join(timeout=10)
        assert not second.is_alive()


def test_large_guests_share_a_limited_memory(tmp_path: Path, own_names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2 GiB, one of 1.5 GiB leaves room for a usual one, and none for another of 1.5 GiB."""
    proc = host(tmp_path, version=2, memory=str(2048 << 20))
    monkeypatch.setattr(quota, "groups", partial(quota.groups, proc))
    monkeypatch.setattr(cpu_slots, "_best_first", lambda: range(3))
    reading, writing = os.pipe()
    with os.fdopen(reading) as told, os.fdopen(writing, "w") as errors, redirect_stderr(errors):
        with cpu_slots.free_cpu(1536):
            with cpu_slots.free_cpu():
                pass
            second = threading.Thread(target=lambda: cpu_slots.free_cpu(1536).__enter__())
            second.start()
            assert told.readline().startswith(f"waiting for a CPU: {tmp_path}/a group/job allows 2048 MiB for all; at")
        second.join(timeout=10)
        assert not second.is_alive()


def test_too_little_memory_is_waited_for_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = host(tmp_path / "small", version=2, memory=str(300 << 20))
    groups, free_bytes = quota.groups, quota.free_bytes
    monkeypatch.setattr(quota, "groups", lambda: groups(small))
    with (
        pytest.raises(EngineError, match=r"job limits memory to 300 MiB; this guest takes up to 512 MiB"),
        cpu_slots.free_cpu(),
    ):
        pass
    full = host(tmp_path / "full", version=2, available_mib=200)
    monkeypatch.setattr(quota, "groups", lambda: groups(full))
    monkeypatch.setattr(quota, "free_bytes", lambda limited: free_bytes(limited, full))
    with pytest.raises(EngineError, match=r"too little memory: 200 MiB are free"), cpu_slots.free_cpu():
        pass
    reading, writing = os.pipe()
    with os.fdopen(reading) as told, os.fdopen(writing, "w") as errors, redirect_stderr(errors):
        with cpu_slots._claimed(cpu_slots._name(0)):  # a guest at work
            second = threading.Thread(target=lambda: cpu_slots.free_cpu().__enter__())
            second.start()
            assert told.readline().startswith("waiting for memory: 200 MiB are free")
            (full / "meminfo").write_text("MemAvailable: 4000000 kB\n")
        second.join(timeout=10)
        assert not second.is_alive()
