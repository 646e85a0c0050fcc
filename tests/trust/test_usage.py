"""What the watch sees of processes that hide what they take. Plain processes here: they are looked at as a guest's."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine import cgroup, usage
from engine.images import PROJECT
from engine.sandbox import MEMORY_FOLDER, TRIAL, Limits
from testbed.cli import main

MIB = 1 << 20
NOBODY = 65534
HOLD = "print('ready', flush=True); import time; time.sleep(60)"
Started = Callable[[str], usage.Usage]


def nested(python: str, code: str) -> list[str]:
    """The command that runs code below two processes, as a guest's are."""
    return ["sh", "-c", 'sh -c \'"$@"; true\' - "$@"; true', "-", python, "-c", code]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Starts Python code in a run folder; returns who looks at it."""
    processes = []

    def start(code: str) -> usage.Usage:
        words = nested(sys.executable, f"{code}\n{HOLD}")
        process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        return usage.Usage(
            process.pid, tmp_path, Limits(memory_bytes=64 * MIB, disk_bytes=8 * MIB, processes=10), False
        )

    yield start
    for process in processes:
        for member in reversed(usage.processes(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(member, 9)
        process.wait()
        assert process.stdout
        process.stdout.close()


def test_nothing_to_complain_about(started: Started) -> None:
    assert started("").too_much() is None


def test_children_of_threads_are_counted(started: Started) -> None:
    many = in_a_thread("import os, time; [time.sleep(60) for _ in range(20) if os.fork() == 0]")
    assert "processes, allowed are 10" in str(started(many).too_much())


def in_a_thread(act: str) -> str:
    return f"""
import threading
def run():
    {act}
    acted.set()
    threading.Event().wait()
acted = threading.Event()
threading.Thread(target=run, daemon=True).start()
acted.wait()"""


FILE = "import mmap, os; file = os.open('x', os.O_RDWR | os.O_CREAT); os.write(file, bytes(16 << 20)); os.unlink('x'); "


def test_a_file_without_a_name_is_counted(started: Started) -> None:
    assert "largest file is 'a file without a name'" in str(started(FILE).too_much())


def test_a_guest_that_ends_while_its_files_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that is its memory is in its memory folder then as before."""
    memory = f"import os; file = os.open('{MEMORY_FOLDER}/x', os.O_RDWR | os.O_CREAT); os.truncate(file, {16 * MIB}); "
    code = f"{memory}os.unlink('{MEMORY_FOLDER}/x'); {HOLD}"
    process = subprocess.Popen([*TRIAL[:-1], sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    list_files = usage._open_files

    def list_and_end(inside: list[int]) -> Iterator[os.stat_result]:
        files = list(list_files(inside))
        process.kill()
        process.wait()
        return iter(files)

    monkeypatch.setattr(usage, "_open_files", list_and_end)
    guest = usage.Usage(process.pid, tmp_path, Limits(memory_bytes=64 * MIB, disk_bytes=8 * MIB), False)
    assert guest.too_much() is None
    process.stdout.close()


def test_a_file_that_only_another_thread_has_open_is_counted(started: Started) -> None:
    """A thread that unshares its descriptors."""
    alone = in_a_thread(f"import ctypes; ctypes.CDLL(None).unshare(0x400); {FILE}")
    assert "largest file is 'a file without a name'" in str(started(alone).too_much())


def test_a_table_of_descriptors_that_processes_share_is_listed_once(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As all host processes of a guest do."""
    shared = """
import ctypes
libc = ctypes.CDLL(None)
held = [open("/dev/null") for _ in range(50)]
for _ in range(5):
    if libc.syscall(56, 0x400 | 17, 0, 0, 0, 0) == 0:  # clone, CLONE_FILES, SIGCHLD
        libc.pause()"""
    looker = started(shared)
    (top, *inside) = usage.processes(looker._top)
    listed = len(list(usage._open_files([top, *inside])))
    monkeypatch.setattr(usage, "_KCMP", None)
    assert len(list(usage._open_files([top, *inside]))) >= listed + 5 * 50


def test_a_file_on_a_device_of_its_own_is_counted(started: Started) -> None:
    """As in a part of the disk that the guest makes itself: a subvolume of Btrfs."""
    (user, group), into = (os.getuid(), os.getgid()), "/proc/self"
    own = f"""
import ctypes, os
libc = ctypes.CDLL(None)
libc.unshare(0x10020000)  # CLONE_NEWUSER, CLONE_NEWNS
for name, words in {{"setgroups": "deny", "uid_map": "0 {user} 1", "gid_map": "0 {group} 1"}}.items():
    open("{into}/" + name, "w").write(words)
os.mkdir("part")
assert libc.mount(b"none", b"part", b"tmpfs", 0, None) == 0
os.chdir("part")
{FILE}"""
    assert "largest file is 'a file without a name'" in str(started(own).too_much())


def test_what_waits_in_sockets_is_counted(started: Started) -> None:
    """In the host's kernel, which counts it for nobody: each socket as what it may hold at most."""
    looker = started("import socket; kept = [socket.socketpair() for _ in range(150)]")
    assert "its processes take" in str(looker.too_much())


LOOK = """\
import os, subprocess, sys
from pathlib import Path
from engine import usage
from engine.sandbox import MEMORY_FOLDER, TRIAL, Limits
top = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
top.stdout.readline()
print(usage.Usage(top.pid, Path(sys.argv[1]), Limits(), False).too_much())
for process in reversed(usage.processes(top.pid)):
    os.kill(process, 9)
"""


def test_a_process_that_hides_its_files_is_noticed() -> None:
    """The system call filter lets none do so this way; root sees all, so this is another user's look."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    hidden = f"import ctypes; ctypes.CDLL(None).prctl(4, 0); {HOLD}"
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}
        looked_at = nested(python or sys.executable, hidden)
        words = [looked_at[-3], "-c", LOOK, folder, *looked_at]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, cwd=folder, **who)
    assert done.stdout == "one of its processes hides which files it has open\n", done.stderr


def test_doctor_says_which_bound_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    assert cgroup.described() in capsys.readouterr().out
