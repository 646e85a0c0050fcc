"""What root in a guest can do to its host: nothing, not even from the guest's kernel, a process of the host."""

import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine import run as execution
from engine import sandbox, syscall_mode
from engine import watch as of_engine
from engine.errors import EngineError
from engine.recorder import records_after
from engine.run import execute, run_folder
from scenarios.resolve import Cell, resolve
from testbed.check import command as check
from tests.trust.conftest import AGENT, DONE, Sabotage, at_the_end

Attack = Callable[..., None]
CONTENT = "the user's secret"


@pytest.fixture
def canary() -> Iterator[Path]:
    """A file of the user's home."""
    file = Path.home() / f".testbed-canary-{os.getpid()}"
    file.write_text(CONTENT)
    yield file
    file.unlink()


def results(folder: Path) -> dict[str, int]:
    """What the hostile module printed: attack and result."""
    console = (folder / "logs" / "console.log").read_text()
    return {name: int(result) for name, result in re.findall(r"attack (\S+): (-?\d+)", console)}


def names_of_processes() -> set[str]:
    return {path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm") if path.exists()}


@pytest.mark.usefixtures("mode")
def test_the_guests_kernel_reaches_nothing_of_the_host(
    cell: Cell, tmp_path: Path, attack: Attack, canary: Path
) -> None:
    victim = subprocess.Popen(["sleep", "60"])
    abstract = f"testbed-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as loopback, socket.socket(socket.AF_UNIX) as named:
        named.bind(f"\0{abstract}")
        named.listen()
        port = loopback.getsockname()[1]
        attack(attack="reach", canary=canary, port=port, abstract=abstract, victim=victim.pid)
        execute(resolve(cell, 1), tmp_path)
        for listener in (loopback, named):
            listener.settimeout(0)
            with pytest.raises(BlockingIOError):
                listener.accept()
    assert victim.poll() is None
    victim.kill()
    victim.wait()

    told = results(run_folder(tmp_path, cell, 1))
    refused, absent, read_only = -errno.EPERM, -errno.ENOENT, -errno.EROFS
    assert told.pop("canary") == absent
    assert told.pop("signal") == -errno.ESRCH
    for place in [name for name in told if name.startswith("/")]:
        assert told.pop(place) in (read_only, absent), place
    assert told.pop("loopback") == refused
    assert told.pop("shared-zeroes") == absent
    assert set(told) == {
        *("mount", "unshare", "setns", "bpf", "add_key", "memfd_create", "io_uring_setup"),
        *("namespace", "forged-input", "abstract", "shared-memory", "shared-memory-validated", "hide"),
    }
    assert set(told.values()) == {refused}


CALLS_OF_THE_HOST = r"""
import ctypes, mmap, os
IMAGE, IMAGE_BYTES = 0x60000000, 8 << 20
gadget = IMAGE + ctypes.string_at(IMAGE, IMAGE_BYTES).index(b"\x0f\x05\xc3")  # syscall; ret
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# (number, first, second, third, gadget): each goes one register down, then there
memory.write(bytes.fromhex("4889f8 4889f7 4889d6 4889ca 41ffe0"))
place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
call = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_void_p] * 5)(place)
told = {"same-process": int(call(39, 0, 0, 0, gadget) == os.getpid())}
told |= {"socket": call(41, 2, 1, 0, gadget), "memfd_create": call(319, IMAGE, 0, 0, gadget)}
path = ctypes.create_string_buffer(CANARY)
told["canary"] = call(2, ctypes.addressof(path), 0, 0, gadget)
with open("/dev/kmsg", "w", buffering=1) as log:
    for name, result in told.items():
        print(f"<0>attack {name}: {result}", file=log)
"""


def test_a_program_that_calls_the_host_past_the_guests_kernel(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the kernel is in its processes, each of them can jump to the kernel's own calls of the host."""
    if syscall_mode.lacking():
        pytest.skip("this host has nothing but stub processes")
    monkeypatch.setenv(syscall_mode.STUBS, "0")
    source = CALLS_OF_THE_HOST.replace("CANARY", repr(bytes(canary)))
    sabotage(*at_the_end(f"exec({source!r})"))
    execute(resolve(cell, 1), tmp_path)
    told = results(run_folder(tmp_path, cell, 1))
    assert told == {
        "same-process": 0,
        "socket": -errno.EPERM,
        "memfd_create": -errno.EPERM,
        "canary": -errno.ENOENT,
    }


def test_the_attacks_are_real(
    cell: Cell, tmp_path: Path, attack: Attack, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without walls, on explicit demand only, the same module does read the user's files; the filter still holds."""
    monkeypatch.setenv(sandbox.UNCONFINED, "1")
    with socket.create_server(("127.0.0.1", 0)) as loopback:
        attack(attack="reach", canary=canary, port=loopback.getsockname()[1], abstract="nobody", victim=2**22 + 1)
        execute(resolve(cell, 1), tmp_path)
    told = results(run_folder(tmp_path, cell, 1))
    for place in [Path(name) for name in told if name.startswith("/") and told[name] >= 0]:
        assert place.read_bytes() == b""
        place.unlink()
    assert told["canary"] >= 0
    assert told["loopback"] == told["bpf"] == told["forged-input"] == -errno.EPERM


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("how", ["panic: on purpose", "fault: Kernel mode fault at addr 0x0"])
def test_a_panic_of_the_guest_is_told(cell: Cell, tmp_path: Path, attack: Attack, how: str) -> None:
    name, words = how.split(": ")
    attack(attack=name)
    with pytest.raises(EngineError, match=f"before its agent was done: Kernel panic - not syncing: {words}"):
        execute(resolve(cell, 1), tmp_path)
    logs = run_folder(tmp_path, cell, 1).with_name("failed-seed-1") / "logs"
    assert re.search(r"Call Trace:\n(.*\n)* .* hostile_init\+0x", (logs / "console.log").read_text())


@pytest.mark.usefixtures("mode")
def test_nothing_outlives_the_run(cell: Cell, tmp_path: Path, attack: Attack) -> None:
    attack(attack="outlive")
    execute(resolve(cell, 1), tmp_path)
    assert results(run_folder(tmp_path, cell, 1))["outlive"] > 0
    assert "outlived" not in names_of_processes()


@pytest.mark.usefixtures("mode")
def test_signals_to_everybody_end_the_guest_only(cell: Cell, tmp_path: Path, attack: Attack) -> None:
    other = subprocess.Popen(["sleep", "60"])
    attack(attack="kill-all")
    with pytest.raises(EngineError, match="before its agent was done"):
        execute(resolve(cell, 1), tmp_path)
    assert other.poll() is None
    other.kill()
    other.wait()


FILLS = {
    "fill": r"its run folder takes \d+ MiB, this run may take",
    "fill-unlinked": r"its run folder takes \d+ MiB, this run may take .* the largest file is 'a file without a name'",
}


@pytest.mark.parametrize("how", FILLS)
def test_the_disk_has_a_quota(
    cell: Cell, tmp_path: Path, attack: Attack, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_SPARE_BYTES", 4 << 20)
    attack(attack=how)
    with pytest.raises(EngineError, match=f"the testbed ended the guest: {FILLS[how]}"):
        execute(resolve(cell, 1), tmp_path)
    left = sum(file.stat().st_blocks * 512 for file in tmp_path.rglob("*"))
    assert left < 16 << 20


def test_holes_count_as_what_a_reader_finds(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    """A file of nothing costs no disk, but the host's hashing of it takes time."""
    sabotage(*at_the_end("open('/results/logs/x', 'w').truncate(500 << 20)"))
    with pytest.raises(EngineError, match=r"its run folder takes 5\d\d MiB.* the largest file is 'logs/x'"):
        execute(resolve(cell, 1), tmp_path)


def by_check(_cell: Cell, into: Path) -> None:
    """What the first demand of `testbed check` carries out, which runs what nobody has looked at yet."""
    into.joinpath("check").mkdir()
    if wrong := next(check.check("tcp-reno", into / "check")).wrong:
        raise EngineError(wrong)


DOORS: dict[str, Callable[[Cell, Path], object]] = {
    "run": lambda cell, into: execute(resolve(cell, 1), into),
    "check": by_check,
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize(("how", "door"), [("memory", "run"), ("sockets-full", "run"), ("memory", "check")])
def test_memory_is_limited(
    cell: Cell, tmp_path: Path, attack: Attack, how: str, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "Limits", lambda **given: sandbox.Limits(**given, memory_bytes=256 << 20))
    attack(attack=how)
    with pytest.raises(EngineError, match=r"its processes t(ake \d+|ook more than the 256) MiB of memory"):
        DOORS[door](cell, tmp_path)


@pytest.mark.usefixtures("mode")
def test_processes_are_limited(cell: Cell, tmp_path: Path, attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "Limits", lambda **given: sandbox.Limits(**given, processes=100))
    attack(attack="fork")
    with pytest.raises(EngineError, match=r"the (testbed ended the guest: it (has|wanted) .* processes|guest made)"):
        execute(resolve(cell, 1), tmp_path)


LEFT_BEHIND = {
    "a link": "os.symlink('{secret}', '/results/summary.json')",
    "a link in place of a capture": "os.symlink('{secret}', '/results/pcap/bottleneck-out.pcap')",
    "a pipe": "os.mkfifo('/results/logs/pipe')",
    "a pipe for a sign of life": "os.remove('/results/heartbeat'); os.mkfifo('/results/heartbeat')",
    "tables of its own": "os.mkdir('/results/columns')",
    "a capture that no tap asks for": "open('/results/pcap/sender.pcap', 'w')",
    "a trace of its own": "open('/results/traces/cwnd-other.csv', 'w')",
    "a folder of traces": "os.mkdir('/results/traces/more')",
}


@pytest.mark.parametrize("left", LEFT_BEHIND)
def test_what_is_no_plain_file_is_not_taken_over(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, canary: Path, left: str
) -> None:
    act = LEFT_BEHIND[left].format(secret=canary)
    sabotage(*at_the_end(act))
    with pytest.raises(
        EngineError, match=r"the testbed refuses what the guest left: unexpected file '.*' in the run folder"
    ):
        execute(resolve(cell, 1), tmp_path)
    assert canary.read_text() == CONTENT


def test_why_a_run_failed_is_not_written_through_a_link(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "summary.json").symlink_to(elsewhere)
    execution._note_failure(folder, {}, "for a reason")
    assert not elsewhere.exists()


def test_a_guest_may_remove_its_console(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage(*at_the_end("os.remove('/results/logs/console.log'); os.kill(os.getpid(), 9)"))
    with pytest.raises(EngineError, match="before its agent was done: its console says nothing"):
        execute(resolve(cell, 1), tmp_path)


def test_modes_do_not_outlive_the_guest(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    act = "open('/results/logs/x', 'w'); os.chmod('/results/logs/x', 0o777); os.chmod('/results/traces', 0o700)"
    sabotage(*at_the_end(act))
    execute(resolve(cell, 1), tmp_path)
    folder = run_folder(tmp_path, cell, 1)
    assert (folder / "logs/x").stat().st_mode & 0o7777 == 0o644
    assert (folder / "traces").stat().st_mode & 0o7777 == 0o755


def test_while_a_run_lasts_nobody_else_sees_its_folder(
    cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watch(command: list[str], folder: Path, *_: object, **__: object) -> int:
        seen.append(folder.stat().st_mode & 0o7777)
        raise EngineError("seen enough")

    monkeypatch.setattr(of_engine, "run", watch)
    with pytest.raises(EngineError, match="seen enough"):
        execute(resolve(cell, 1), tmp_path)
    assert seen == [0o700]


@pytest.mark.usefixtures("mode")
def test_the_hosts_kernel_gives_neither_rights_nor_memory(cell: Cell, tmp_path: Path, attack: Attack) -> None:
    """Set-user-ID and set-group-ID programs, terminals, inode flags, record locks, larger pipes and sockets."""
    attack(attack="take")
    execute(resolve(cell, 1), tmp_path)
    told = results(run_folder(tmp_path, cell, 1))
    assert told.pop("terminal") == -errno.ENOENT
    assert told.pop("descriptors") == 4096
    assert len(told) == 19
    assert set(told.values()) == {-errno.EPERM}


def test_an_outcome_that_is_none_is_an_error(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    """tests/trust/test_outcome.py has the others."""
    sabotage(AGENT, "json.dump(outcome, file)", "json.dump({**outcome, 'virtual_ns': float('inf')}, file)")
    with pytest.raises(EngineError, match=r"refuses what the guest says: guest\.json: virtual_ns: found a number"):
        execute(resolve(cell, 1), tmp_path)


def test_a_description_that_the_guest_rewrites_stays_the_hosts(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    act = "open('/results/run.json', 'w').write('forged')"
    sabotage(*at_the_end(act))
    execute(resolve(cell, 1), tmp_path)
    assert "forged" not in (run_folder(tmp_path, cell, 1) / "run.json").read_text()


FORGES = """
        import os
        for name in os.listdir('/results/traces'):
            with open('/results/traces/' + name) as file:
                head, *rows = file.read().splitlines(True)
            with open('/results/traces/' + name, 'w') as file:
                file.writelines([head, *rows[: len(rows) // 2]])
        for flow in outcome['flows'].values():
            flow['received_bytes'] = flow['received_bytes'] // 2
"""
CAPTURES = "import os; os.makedirs('/results/pcap', exist_ok=True); open('/results/pcap/bottleneck-out.pcap', 'w')"


def test_root_of_a_guest_forges_what_it_reports_but_no_packet(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    """As docs/explanation/threat-model.md says: packets tell, and whoever repeats the run without the forger."""
    honest = execute(resolve(cell, 1), tmp_path / "honest")
    sabotage(AGENT, DONE, f"{FORGES.strip()}\n        {DONE}")
    forged = execute(resolve(cell, 1), tmp_path / "forged")
    differ = {name for name in honest["digests"] if honest["digests"][name] != forged["digests"].get(name)}
    assert differ and all(name.startswith("traces/") for name in differ)
    assert honest["digests"].keys() == forged["digests"].keys()
    received = [summary["flows"]["tcp"]["received_bytes"] for summary in (honest, forged)]
    assert received[1] == received[0] // 2
    # what left the bottleneck is more than the receiver says that it got
    sent = records_after(run_folder(tmp_path / "forged", cell, 1) / "pcap/bottleneck-out.pcap", 0)
    assert sent["pkts"] * 1448 > 1.9 * received[1]


def test_a_capture_of_the_guests_own_is_refused(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage(*at_the_end(CAPTURES))
    with pytest.raises(EngineError, match=r"unexpected file 'bottleneck-out\.pcap' in the run folder"):
        execute(resolve(cell, 1), tmp_path)


def test_a_host_without_user_namespaces(scenario: Path, tmp_path: Path) -> None:
    """Doctor says so and how to go on, a run refuses, unless told otherwise."""

    def testbed(words: str) -> tuple[int, str]:
        forbid = "echo 0 >/proc/sys/user/max_user_namespaces"
        powerless = "setpriv --bounding-set=-all --inh-caps=-all"
        script = f"{forbid} && exec {powerless} {Path(sys.executable).parent}/testbed {words}"
        command = ["unshare", "--user", "--map-root-user", "sh", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    run = f"run {scenario} --seed 1 --into {tmp_path}"
    status, told = testbed("doctor")
    assert status == 1
    assert re.search(r"bwrap fails: [A-Z]", told) and "sudo sysctl user.max_user_namespaces=10000" in told
    status, told = testbed(run)
    assert status == 1
    assert "no guest runs outside a sandbox: see `testbed doctor`" in told
    os.environ[sandbox.UNCONFINED] = "1"
    try:
        status, told = testbed(run)
    finally:
        del os.environ[sandbox.UNCONFINED]
    assert status == 0, told


OPENS_FOR_WRITING = """\
import os
for top, folders, names in os.walk("/proc"):
    if top == "/proc":
        folders[:] = [name for name in folders if not name.isdigit() and name not in ("self", "thread-self")]
    for path in (os.path.join(top, name) for name in names):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
        except OSError:
            continue
        print(path)
"""


def test_nothing_of_the_hosts_proc_opens_for_writing() -> None:
    """Else a guest of root, without Landlock, writes core_pattern, which the host executes."""
    command = [*sandbox.TRIAL[:-1], sys.executable, "-c", OPENS_FOR_WRITING]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
