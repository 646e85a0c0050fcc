"""`testbed exec` and `testbed shell` show a guest folders of the user's: what it can reach through them."""

import ctypes
import errno
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from engine import sandbox, shell
from engine.errors import EngineError
from scenarios.resolve import Cell
from tests.trust.canary import Canary
from tests.trust.conftest import Sabotage
from tests.trust.test_containment import Attack
from tests.trust.test_faults import TESTBED

KINDS = {"ssh-agent": socket.SOCK_STREAM, "docker": socket.SOCK_STREAM, "dbus": socket.SOCK_SEQPACKET}
KINDS |= {"journal": socket.SOCK_DGRAM}
ENDED = r"the testbed ended the guest: its processes t(ake \d+|ook more than the \d+) MiB of memory"
SCRIPT = """\
import os, subprocess, sys
canary, *sockets = sys.argv[1:]
for number, target in enumerate(("", "/secret", "/inner", "/inner/secret")):
    for place in ("/results/zzz", "/results/logs/zzz", "/results/files/zzz", "/lab/work/zzz"):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(canary + target, f"{place}-{number}")
os.rename("/results/logs", "/results/away")
os.symlink(canary, "/results/logs")
module = next(f"{place}/hostile.ko" for place in ("/lab/work", "/lab/script") if os.path.exists(f"{place}/hostile.ko"))
subprocess.run(["insmod", module, "attack=sockets", "sockets=" + ",".join(sockets)], check=True)
subprocess.run(["dmesg"])
"""


@pytest.fixture
def home(tmp_path: Path, hostile_lab_module: Path) -> Iterator[Path]:
    """A user's folder with sockets of programs that run for the user, a hostile script beside them and a canary."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(hostile_lab_module, home)
    (home / "script.py").write_text(SCRIPT)
    with ExitStack() as stack:
        listening = []
        for name, kind in KINDS.items():
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK))
            listener.bind(str(home / name))
            if kind != socket.SOCK_DGRAM:
                listener.listen()
            listening.append(listener)
        yield home
        for listener in listening:
            with pytest.raises(BlockingIOError):  # nobody called
                listener.recv(1) if listener.type == socket.SOCK_DGRAM else listener.accept()


def landlock() -> bool:
    """Whether the host's kernel has it as far as `confine` asks for it (landlock_create_ruleset(2), the version)."""
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1)) >= 2


@pytest.mark.skipif(not landlock(), reason="the host's kernel has no Landlock")
def test_a_script_writes_into_no_named_pipe(tmp_path: Path, hostile_lab_module: Path) -> None:
    shutil.copy(hostile_lab_module, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    script = tmp_path / "script.py"
    words = ["insmod", "/lab/script/hostile.ko", "attack=pipe", "pipe=/guest/script/pipe"]
    script.write_text(f"import subprocess\nsubprocess.run({words}, check=True)\nsubprocess.run(['dmesg'])\n")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        words = [TESTBED, "exec", "--into", f"{tmp_path}/results", str(script)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    finally:
        os.close(reader)
    assert f"attack pipe: {-errno.EACCES}\n" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("folder", ["beside the script, as in $HOME", "/"])
def test_a_script_reaches_no_socket_and_changes_nothing(home: Path, tmp_path: Path, folder: str) -> None:
    canary = Canary(home / "canary")
    started_in = home if folder != "/" else Path("/")
    seen = Path("/guest/work") / home.relative_to(started_in)
    words = ["exec", "--into", str(tmp_path / "results"), str(home / "script.py")]
    words += [str(canary.folder), *(str(seen / name) for name in KINDS)]
    done = subprocess.run([TESTBED, *words], cwd=started_in, capture_output=True, text=True, check=False, timeout=300)
    assert re.search(r"the testbed refuses what the guest left: unexpected file '.*' in the run folder", done.stderr), (
        done.stderr
    )
    told = [int(result) for result in re.findall(r"attack \S+: (-?\d+)", done.stdout)]
    assert len(told) == len(KINDS) * 3 * 3
    # a stream takes no address: EOPNOTSUPP alone, EISCONN when connected
    assert set(told) <= {-errno.EPERM, -errno.EOPNOTSUPP, -errno.EISCONN}
    canary.assert_intact()
    assert not [path for path in tmp_path.joinpath("results").rglob("*") if path.is_symlink()]


def test_in_real_time_a_script_has_bounded_memory_as_well(tmp_path: Path, hostile_lab_module: Path) -> None:
    shutil.copy(hostile_lab_module, tmp_path)
    words = ["insmod", "/lab/script/hostile.ko", "attack=memory"]
    (tmp_path / "script.py").write_text(f"import subprocess\nsubprocess.run({words}, check=True)\n")
    words = [TESTBED, "exec", "--real-time", "--into", f"{tmp_path}/results", f"{tmp_path}/script.py"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode
    assert re.search(ENDED, done.stderr), done.stdout + done.stderr


def test_so_has_a_shell(cell: Cell, attack: Attack, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "Limits", partial(sandbox.Limits, memory_bytes=256 << 20))
    attack(attack="memory")
    act = "import subprocess; subprocess.run(['insmod', '/opt/modules/hostile.ko', 'attack=memory'])"
    sabotage("engine/guest/shell.py", "CLI(net)", act)
    with pytest.raises(EngineError, match=ENDED):
        shell.shell(cell)
