"""Who may run beside whom: guests have a CPU each, a run in real time has the host."""

import fcntl
import os
import threading
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from engine import pin


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that runs on this host meanwhile is waited for."""
    monkeypatch.setattr(pin, "_lock_folder", lambda: tmp_path)


def _free(folder: Path) -> list[int]:
    """CPUs that nobody holds."""
    free = []
    for cpu in range(os.cpu_count() or 1):
        with (folder / f"cpu{cpu}.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            free.append(cpu)
    return free


def test_a_guest_has_one_cpu_to_itself(tmp_path: Path) -> None:
    with pin.free_cpu() as cpu:
        assert cpu in os.sched_getaffinity(0)
        assert cpu not in _free(tmp_path)
    assert cpu in _free(tmp_path)


def test_beside_a_run_in_real_time_there_is_no_cpu_for_another(tmp_path: Path) -> None:
    with pin.all_cpus():
        assert _free(tmp_path) == []
    assert len(_free(tmp_path)) == os.cpu_count()


def test_who_waits_for_a_cpu_says_so() -> None:
    reading, writing = os.pipe()

    def wait() -> None:
        with pin.free_cpu():
            pass

    with pin.all_cpus(), os.fdopen(reading) as told, os.fdopen(writing, "w") as errors, redirect_stderr(errors):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert told.readline() == "waiting for a CPU: other runs on this host hold all of them\n"
    waiting.join()


def test_a_run_in_real_time_waits_for_the_guests_before_it() -> None:
    order = []

    def alone() -> None:
        with pin.all_cpus():
            order.append("alone")

    with pin.free_cpu():
        waiting = threading.Thread(target=alone)
        waiting.start()
        order.append("guest")
    waiting.join()
    assert order == ["guest", "alone"]
