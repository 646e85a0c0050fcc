# SPDX-License-Identifier: MIT
"""Steps of a build: commands that fail speak in one sentence, and a bad source is named."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from images import __main__ as command
from images import guest_tools, programs
from images.cache import Store
from images.errors import ImageError
from images.kernel import trial
from images.locked import requested
from images.rootfs.build import PACKAGES, RootFileSystem
from images.run import logged
from images.stock import build as stock
from tests.images.building import build_root


def test_a_failed_command_names_the_step_the_log_and_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log"
    logged(["echo", "earlier step"], log, "First")
    with pytest.raises(ImageError) as caught:
        logged(["sh", "-c", "echo because; exit 3"], log, "Second")
    assert str(caught.value) == f"Second failed (exit status 3); the whole log is {log}\n    because"
    assert log.read_text() == "earlier step\nbecause\n"


def test_where_a_compiler_stops_at_ten_errors_the_way_to_all_is_told(tmp_path: Path) -> None:
    says = './a.go:20:14: cannot use "x" as int value\n./a.go:29:15: too many errors'
    with pytest.raises(ImageError, match=r"(?s)too many errors\n.*`go build -gcflags=-e` tells all"):
        logged(["sh", "-c", f"printf '{says}\\n'; exit 1"], tmp_path / "log", "Build")


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"Third: no-such-program is not installed \(`testbed doctor`"):
        logged(["no-such-program"], tmp_path / "log", "Third")


def test_the_stock_kernel_asks_for_what_packs_it_before_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match="cpio is not installed: sudo apt-get install cpio"):
        stock.build(Store(tmp_path / "store"), print, RootFileSystem(tmp_path), tmp_path)


def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "build").write_text("#!/bin/sh\n")
    with pytest.raises(ImageError, match=r"Fourth: the file `build` is not executable \(chmod \+x\)"):
        logged([str(tmp_path / "build")], tmp_path / "log", "Fourth")


def test_an_interrupted_build_leaves_no_process_at_work(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    step = ["sh", "-c", f"sleep 1000 & echo $! > {pipe}; wait"]
    code = f"import pathlib, images.run; images.run.logged({step!r}, pathlib.Path('log'), 'Step')"
    builder = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.DEVNULL)
    with pipe.open() as reader:
        compiler = int(reader.read())
        builder.send_signal(signal.SIGINT)
        assert builder.wait() != 0
    # who is killed is gone or a zombie a moment after
    with suppress(ProcessLookupError):
        assert select.select([os.pidfd_open(compiler)], [], [], 10)[0]


def test_tools_become_static_binaries(tmp_path: Path) -> None:
    guest = tmp_path / "guest"
    guest.mkdir()
    (guest / "hello.c").write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    store = Store(tmp_path / "store")
    folder, digest = guest_tools.build(store, print, build_root(), guest)
    assert subprocess.run([folder / "hello"], capture_output=True, text=True, check=True).stdout == "hello\n"
    (guest / "hello.c").write_text("int main(void) { return 0; }\n")
    assert guest_tools.build(store, print, build_root(), guest)[1] != digest


def test_a_warning_in_a_tool_stops_the_build(tmp_path: Path) -> None:
    guest = tmp_path / "guest"
    guest.mkdir()
    (guest / "bad.c").write_text("int main(int unused, char **names) { return 0; }\n")
    store = Store(tmp_path / "store")
    with pytest.raises(ImageError, match=r"Compiling the guest tools failed(.|\n)*bad.c:1:14: error: unused parameter"):
        guest_tools.build(store, print, build_root(), guest)


def test_a_kernel_that_does_not_boot_is_told_with_its_last_words(tmp_path: Path) -> None:
    kernel = tmp_path / "linux"
    kernel.write_text("#!/bin/sh\necho cannot map memory\nexit 1\n")
    kernel.chmod(0o755)
    with pytest.raises(ImageError, match=r"does not boot on this host .* cannot map memory"):
        trial.seccomp_works(kernel, kernel)


@pytest.mark.parametrize(
    ("console", "works"), [("Checking that seccomp filters can be installed...OK", True), ("Linux version 6.12", False)]
)
def test_a_kernel_that_ignores_the_seccomp_option_is_not_taken_for_one_that_has_it(
    tmp_path: Path, console: str, works: bool
) -> None:
    kernel = tmp_path / "linux"
    # a kernel as seen from outside: it prints, and its first program leaves a mark in the root it was given
    kernel.write_text(
        f"#!/bin/sh\necho '{console}'\n"
        'for word; do case $word in rootflags=*) touch "${word#*=}/booted";; esac; done\n'
    )
    kernel.chmod(0o755)
    assert trial.seccomp_works(kernel, kernel) is works


def test_package_lists_may_have_comments() -> None:
    assert requested("# all\na\n\nb # why\n") == ["a", "b"]
    assert "mininet" in requested(PACKAGES.read_text())


def test_an_error_is_one_sentence_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> Path:
        raise ImageError("This cannot be built")

    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.setattr(command, "build_all", fail)
    monkeypatch.setattr(sys, "argv", ["images"])
    assert command.main() == 1
    assert capsys.readouterr().err == "error: This cannot be built\n"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("qbitorrent", "unknown implementation 'qbitorrent'; allowed: .*did you mean qbittorrent?)"),
        ("torrent", "(did you mean libtorrent?)"),
        ("tcp-cubic", "tcp-cubic is part of the guest's kernel and needs no build of its own"),
    ],
)
def test_an_unknown_program_is_refused_before_anything_is_built(
    name: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["images", name])
    assert command.main() == 1
    said = capsys.readouterr().err
    assert all(part in said for part in sentence.split(".*"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (
            "#!/bin/sh\r\nexit\r\n",
            0o755,
            r"mine: the file `endpoint` has lines that end in CR LF, as on Windows",
        ),
        ("#!/bin/sh\n", 0o644, r"mine: the file `endpoint` is not executable \(chmod \+x\)"),
    ],
)
def test_a_file_that_no_kernel_starts_is_refused(text: str, mode: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "endpoint"
    file.write_bytes(text.encode())
    file.chmod(mode)
    with pytest.raises(ImageError, match=message):
        programs.check_executable("mine", file)
