"""What the watch sees of processes that hide what they take. Plain processes here: they are looked at as a guest's."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine import cgroup, usage
from engine.cli import main
from engine.images import PROJECT
from engine.sandbox import Limits

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
        assert process.stdout.readline() == "ready\n"
        return usage.Usage(
            process.pid, tmp_path, Limits(memory_bytes=64 * MIB, disk_bytes=8 * MIB, processes=10), False
        )

    yield start
    for process in processes:
        for one in reversed(usage.processes(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(one, 9)
        process.wait()
        process.stdout.close()


def test_nothing_to_complain_about(started: Started) -> None:
    assert started("").too_much() is None


def test_children_of_threads_are_counted(started: Started) -> None:
    many = """
import os, threading
def fork():
    for _ in range(20):
        if os.fork() == 0:
            import time; time.sleep(60)
    forked.set()
    threading.Event().wait()
forked = threading.Event()
threading.Thread(target=fork, daemon=True).start()
forked.wait()"""
    assert "processes, allowed are 10" in str(started(many).too_much())


FILE = "import mmap, os; file = os.open('x', os.O_RDWR | os.O_CREAT); os.write(file, bytes(16 << 20)); os.unlink('x'); "


def test_a_file_without_a_name_is_counted(started: Started) -> None:
    assert "largest file is 'a file without a name'" in str(started(FILE).too_much())


def test_a_file_that_only_another_thread_has_open_is_counted(started: Started) -> None:
    """A thread that unshares its descriptors."""
    alone = f"""
import ctypes, threading
def act():
    ctypes.CDLL(None).unshare(0x400)
    {FILE}
    held.set()
    threading.Event().wait()
held = threading.Event()
threading.Thread(target=act, daemon=True).start()
held.wait()"""
    assert "largest file is 'a file without a name'" in str(started(alone).too_much())


def test_a_file_held_by_a_mapping_is_noticed(started: Started) -> None:
    held = FILE + "kept = mmap.mmap(file, 4096); os.close(file)"
    assert started(held).too_much() == "one of its processes maps a file of the run folder into its memory"


def test_a_file_under_way_in_a_message_is_noticed(started: Started) -> None:
    """Only what stays under way, while the guest's processes do compute."""
    held = (
        FILE + "import socket, threading; one, other = socket.socketpair(); socket.send_fds(one, [b'x'], [file]); "
        "os.close(file)\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()"
    )
    looker = started(held)
    looker._free_bytes += 16 * MIB  # the disk has filled meanwhile
    found: str | None = None
    for _ in range(600):
        found = found or looker.too_much()
        if found:
            break
        time.sleep(0.05)
    assert found == "its processes keep open files in a message that nobody receives"


def test_shared_memory_without_a_file_is_counted(started: Started) -> None:
    """Each piece as what it may be at most; larger ones the system call filter refuses."""
    looker = started("import mmap; kept = [mmap.mmap(-1, 16 << 10) for _ in range(6000)]")
    assert "MiB of memory, allowed are 64 MiB" in str(looker.too_much())


LOOK = """\
import os, subprocess, sys
from pathlib import Path
from engine import usage
from engine.sandbox import Limits
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
    who = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
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
