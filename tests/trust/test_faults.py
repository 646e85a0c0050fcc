"""Whatever ends a run before its end: one clear message, nothing half-written under a final name, nobody left behind,
and a rerun with the bytes of an undisturbed one.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from common.end_with_parent import PIPELINE
from engine import cgroup, images
from engine.errors import EngineError
from engine.run import execute, run_folder
from engine.usage import processes, state
from images import index
from images.cache import Store, default_root
from scenarios.resolve import Cell, expand, resolve
from tests.trial import trial
from tests.trust.conftest import SHORT, Sabotage, at_the_end
from tests.trust.pipeline import SCENARIO, Results

TESTBED = f"{Path(sys.executable).parent}/testbed"
LONGER = SHORT.replace("duration: 1s", "duration: 120s")
GUEST = "linux"  # the name of a guest's kernel among the host's processes


@pytest.fixture
def longer(scenario: Path) -> Path:
    """A scenario that takes long enough to be interrupted."""
    scenario.write_text(LONGER)
    return scenario


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the longer scenario's run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    digests: dict[str, str] = execute(resolve(expand(trial(folder, LONGER), "complete")[0], 1), folder)["digests"]
    return digests


class Run:
    """`testbed run` of one seed, in a session of its own."""

    def __init__(self, scenario: Path, into: Path, *before: str) -> None:
        command = [*before, TESTBED, "run", str(scenario), "--seed", "1", "--into", str(into)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.cell = expand(scenario, "complete")[0]
        self.folder = run_folder(into, self.cell, 1)

    def descendants(self, name: str) -> list[int]:
        """Processes of that name below this run's."""
        processes, named = [self.process.pid], []
        for process in processes:
            try:
                processes += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
                if Path(f"/proc/{process}/comm").read_text().strip() == name:
                    named.append(process)
            except OSError:
                continue
        return named

    def wait_for(self, what: Callable[[], object]) -> None:
        """Wait until `what` holds or the run has ended."""
        while not what() and self.process.poll() is None:
            time.sleep(0.01)

    def wait_for_progress(self) -> None:
        """Wait until the scenario's own time passes."""
        self.wait_for(lambda: [*self.folder.parent.glob(".*.partial/heartbeat")])

    def end(self) -> tuple[int, str]:
        """Exit status and messages, but for those about the host: it has no cgroup, or its CPUs are taken."""
        _, messages = self.process.communicate(timeout=120)
        assert "Traceback" not in messages
        return self.process.returncode, re.sub(
            r"^(note: no cgroup|waiting for a CPU).*\n", "", messages, flags=re.MULTILINE
        )

    def assert_rerun_gives(self, digests: dict[str, str]) -> None:
        """Nothing stands under the final name; after a rerun it does, with these bytes and nothing beside it."""
        assert not self.folder.exists()
        execute(resolve(self.cell, 1), self.folder.parents[3])
        assert json.loads((self.folder / "summary.json").read_text())["digests"] == digests
        assert [path.name for path in self.folder.parent.iterdir()] == ["seed-1"]


@pytest.mark.parametrize("after_s", [0, 0.4])
def test_a_killed_guest(longer: Path, tmp_path: Path, undisturbed: dict[str, str], after_s: float) -> None:
    run = Run(longer, tmp_path)
    run.wait_for(lambda: run.descendants(GUEST))
    time.sleep(after_s)
    for process in run.descendants(GUEST)[:1]:
        os.kill(process, signal.SIGKILL)
    status, messages = run.end()
    assert status == 1
    assert "the guest ended with status 137 before its agent was done" in messages
    run.assert_rerun_gives(undisturbed)


def test_a_killed_agent(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage(*at_the_end("os.kill(os.getpid(), 9)"))
    with pytest.raises(EngineError, match=r"before its agent was done: init: the agent ended with status 0x9"):
        execute(resolve(cell, 1), tmp_path)
    assert not run_folder(tmp_path, cell, 1).exists()


def test_a_crashing_endpoint(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage("engine/guest/kernel_tcp.py", "[_BULK, *map(str, words)]", "['sh', '-c', 'kill -SEGV $$']")
    with pytest.raises(EngineError, match="flow tcp: sender was ended by SIGSEGV"):
        execute(resolve(cell, 1), tmp_path)
    assert not run_folder(tmp_path, cell, 1).exists()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_ended_testbed_takes_its_guest_along(
    longer: Path, tmp_path: Path, undisturbed: dict[str, str], end: signal.Signals
) -> None:
    run = Run(longer, tmp_path)
    run.wait_for_progress()
    (guest,) = run.descendants(GUEST)[:1]
    run.process.send_signal(end)
    status, messages = run.end()
    if end == signal.SIGKILL:
        assert status == -end
    else:
        assert status == 128 + end
        word = "interrupted" if end == signal.SIGINT else "terminated"
        assert messages.endswith(f"{word}; finished runs are kept\n")
        assert not list(run.folder.parent.iterdir())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{guest}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{guest}").exists()
    run.assert_rerun_gives(undisturbed)


def test_a_killed_product_takes_its_pipeline_along(tmp_path: Path) -> None:
    command = [TESTBED, "compare", "tcp-reno", "tcp-cubic", "--into", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not [*tmp_path.rglob(".*.partial/heartbeat")]:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.1)
    assert len(_processes_naming(tmp_path)) > 1
    process.kill()
    deadline = time.monotonic() + 5
    while _processes_naming(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _processes_naming(tmp_path)
    process.communicate()


def test_a_killed_pipeline_takes_the_analysis_along(tmp_path: Path) -> None:
    """Its command and the processes in which that measures, which wait for ever here."""
    claims = [tmp_path / f"{name}.claims.yaml" for name in ("one", "two")]
    for file in claims:
        os.mkfifo(file)
    command = [sys.executable, "-m", "analysis", "measure", *map(str, claims), "--processes", "2"]
    (tmp_path / "code").touch()
    command += ["--runs", str(tmp_path), "--out", str(tmp_path), "--newer-than", str(tmp_path / "code")]
    pipeline = subprocess.Popen(["sleep", "1000"])
    analysis = subprocess.Popen(command, env=os.environ | {PIPELINE: str(pipeline.pid)})
    writers = [file.open("w") for file in claims]  # once somebody reads
    inside = processes(analysis.pid)
    assert len(inside) > 2
    pipeline.kill()
    pipeline.wait()
    assert analysis.wait(timeout=5) == -signal.SIGTERM
    deadline = time.monotonic() + 5
    while {state(process) for process in inside} - {"", "Z"} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not {state(process) for process in inside} - {"", "Z"}
    for writer in writers:
        writer.close()


def test_a_killed_pipeline_takes_its_runs_along(tmp_path: Path) -> None:
    results = Results(tmp_path, SCENARIO.replace("duration: 1s", "duration: 6000s"))
    process = results.begin()
    runs = results.root / "runs/trial/short/single"
    while not [*runs.glob(".*.partial/heartbeat")]:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.1)
    assert _processes_naming(tmp_path)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 5
    while _processes_naming(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = _processes_naming(tmp_path)
    for pid, _ in left:
        os.kill(pid, signal.SIGTERM)
    process.communicate()
    assert left == []
    assert not [*runs.iterdir()]


def _processes_naming(folder: Path) -> list[tuple[int, str]]:
    """Processes whose command names a folder."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            commands.append((int(process.name), (process / "cmdline").read_text().replace("\0", " ")))
    return [(pid, command) for pid, command in commands if str(folder) in command]


def test_runs_that_have_finished_are_kept_when_a_scheduler_ends_the_next(longer: Path, tmp_path: Path) -> None:
    command = [TESTBED, "run", str(longer), "--seed", "1", "--seed", "2", "--into", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert "/seed-1: 120 s in " in process.stdout.readline()
        process.terminate()
        assert process.communicate(timeout=60)[1].endswith("terminated; finished runs are kept\n")
    assert process.returncode == 128 + signal.SIGTERM
    folder = run_folder(tmp_path, expand(longer, "complete")[0], 1)
    assert json.loads((folder / "summary.json").read_text())["status"] == "ok"
    assert [path.name for path in folder.parent.iterdir()] == ["seed-1"]


def test_a_disk_that_fills_up_meanwhile(longer: Path, tmp_path: Path) -> None:
    longer.write_text(LONGER.replace("120s", "600s"))
    small = tmp_path / "small"
    small.mkdir()
    script = f"""
        mount -t tmpfs -o size=400m none {small} || exit 99
        {TESTBED} run {longer} --seed 1 --into {small} &
        until ls {small}/trial/short/single/.*/heartbeat; do sleep 0.05; done >/dev/null 2>&1
        head -c 1G /dev/zero >{small}/filler 2>/dev/null
        wait $!; status=$?
        find {small} -name 'seed-*'
        exit $status
    """
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "no space left on the disk" in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_disk_without_room_for_files(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    script = 'mount -t tmpfs -o nr_inodes=60 none "$0" && exec "$@"'
    words = ["sh", "-c", script, str(tmp_path / "small"), TESTBED, "run", str(scenario), "--into", f"{tmp_path}/small"]
    done = subprocess.run(["unshare", "-rm", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"room for \d+ files, this run may need 82 ", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("-n 40", "a limit of 40 open files for each process; allowed: 256 or more (ulimit -Hn)"),
        ("-i 0", "a limit of 0 signals that wait; allowed: 64 or more (ulimit -Hi)"),
        ("-f 1", "a limit of 1024 bytes in a file; allowed: "),
        ("-f 100000", "a limit of 102400000 bytes in a file; allowed: "),
    ],
)
def test_limits_of_the_shell_that_are_too_small(scenario: Path, tmp_path: Path, limit: str, said: str) -> None:
    words = ["bash", "-c", f'ulimit {limit}; exec "$0" "$@"', TESTBED, "run", str(scenario), "--into", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"found {said}" in done.stderr and "Traceback" not in done.stderr


def test_a_parent_that_ignores_the_end_of_its_children(scenario: Path, tmp_path: Path) -> None:
    ignore = "import os, sys; from signal import *; signal(SIGCHLD, SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    status, messages = Run(scenario, tmp_path, sys.executable, "-c", ignore).end()
    assert status == 0, messages


def test_a_run_says_that_nothing_bounds_its_memory(scenario: Path, tmp_path: Path) -> None:
    words = [TESTBED, "run", str(scenario), "--seed", "1", "--seed", "2", "--into", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    told = "note: no cgroup bounds the memory of guests on this host: see `testbed doctor`"
    assert done.stderr.count(told) == (cgroup.missing() is not None)


def test_a_host_whose_shared_memory_is_full_does_not_matter(scenario: Path, tmp_path: Path) -> None:
    script = (
        f"mount -t tmpfs -o size=4k none /dev/shm && head -c 4k /dev/zero >/dev/shm/full "
        f"&& exec {TESTBED} run {scenario} --seed 1 --into {tmp_path}"
    )
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_shell_that_gives_too_few_addresses(scenario: Path, tmp_path: Path) -> None:
    run = Run(scenario, tmp_path, "prlimit", f"--as={500 << 20}")
    assert run.end() == (2, "ulimit -v: found 500 MiB; allowed: none, or 2800 MiB or more\n")


def test_two_of_the_same_run_at_once(scenario: Path, tmp_path: Path) -> None:
    both = [Run(scenario, tmp_path) for _ in range(2)]
    assert [run.end() for run in both] == [(0, ""), (0, "")]
    assert [path.name for path in both[0].folder.parent.iterdir()] == ["seed-1"]


@pytest.fixture
def cache() -> Path:
    """The cache of the project, found before `own_cache` takes its place."""
    return default_root()


@pytest.fixture
def own_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache whose files may be damaged: the images of the project, with a root file system that has no programs."""
    built = images.load()
    listing = images.index_of(index.BOOT)
    entries = index.read(listing)
    store = Store(tmp_path / "cache", lambda _: None)

    def add(kind: str, make: Callable[[Path], None]) -> Path:
        return store.ensure(kind, "0" * 64, make)

    def copied(source: Path) -> Callable[[Path], None]:
        def make(folder: Path) -> None:
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns("tree"), dirs_exist_ok=True)

        return make

    def empty_root(folder: Path) -> None:
        for place in ("bin", "lib", "lib64", "sbin", "etc", "var", "dev", "proc", "sys", "run", "tmp", "opt"):
            source = built.rootfs / place
            (folder / "root" / place).parent.mkdir(exist_ok=True)
            if source.is_symlink():
                (folder / "root" / place).symlink_to(source.readlink())
            else:
                (folder / "root" / place).mkdir()

    for name, module in built.modules.items():
        entries[f"module:{name}"]["path"] = str(module)
    entries["kernel"]["path"] = str(add("kernels", copied(built.kernel.parent)) / "linux")
    entries["tools"]["path"] = str(add("tools", copied(built.tools)))
    entries["rootfs"]["path"] = str(add("rootfs", empty_root) / "root")
    index.write(store, store.root / index.FOLDER / listing.name, entries)
    monkeypatch.setenv("TESTBED_CACHE", str(store.root))
    return store.root


@pytest.mark.parametrize("file", ["kernels/*/linux", "tools/*/init"])
def test_a_damaged_image_is_refused(scenario: Path, tmp_path: Path, own_cache: Path, file: str) -> None:
    [damaged] = own_cache.glob(file)
    with damaged.open("r+b") as stream:
        stream.seek(damaged.stat().st_size // 2)
        stream.write(b"damage")
    status, messages = Run(scenario, tmp_path).end()
    assert status == 2 or status == 1
    assert f"{damaged} has changed since it was built: `make images` builds it again" in messages


def test_a_root_file_system_without_its_programs(scenario: Path, tmp_path: Path, cache: Path, own_cache: Path) -> None:
    """A build that went wrong, since what is lost later is missed."""
    status, messages = Run(scenario, tmp_path).end()
    assert status == 1
    assert f"{own_cache}/rootfs/{'0' * 64}/root has no Python that runs" in messages
    shutil.copytree(cache / "code", own_cache / "code", dirs_exist_ok=True)
    status, messages = Run(scenario, tmp_path).end()
    assert status == 1
    assert "done: init: exec /opt/testbed/engine/guest/start.py: No such file or directory" in messages


def test_the_hosts_clocks_do_not_matter(longer: Path, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    clocks = ("unshare", "--user", "--map-root-user", "--time", "--monotonic=1000000", "--boottime=1000000")
    run = Run(longer, tmp_path, *clocks, "--fork", "--kill-child")
    assert run.end() == (0, "")
    assert json.loads((run.folder / "summary.json").read_text())["digests"] == undisturbed
