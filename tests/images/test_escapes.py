# SPDX-License-Identifier: MIT
"""What a stranger's `build`, `install` and lock files try on the host that builds them reaches nothing there."""

from __future__ import annotations

import os
import pty
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from images import fetched, lab, manifests, roots, walls
from images.cache import Store, without_privileges
from images.errors import ImageError
from images.rootfs.build import EPOCH
from tests.images.building import build_root

ESCAPE = Path(__file__).with_name("escape.c")
WITHOUT_WALLS = {
    *("abstract socket", "double chroot", "loopback of the host", "node of a disk", "process of the host"),
    "root of a process of the host",
}
"""What arrives as root; others do where the host itself is no container, or without a chroot."""


@pytest.fixture(scope="module")
def escape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("escape") / "escape"
    subprocess.run(["gcc", "-static", "-Wall", "-Wextra", "-Werror", "-o", program, ESCAPE], check=True)
    return program


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[list[str]]:
    """What the attacks aim at, as the program's arguments: a file, an abstract socket, a port and a process."""
    (tmp_path / "victim").touch()
    name = f"testbed-escape-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as abstract, socket.create_server(("127.0.0.1", 0)) as server:
        abstract.bind(f"\0{name}")
        abstract.listen()
        yield [str(tmp_path / "victim"), name, str(server.getsockname()[1]), str(os.getpid())]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A root in which a static program runs."""
    for name in ("dev", "etc", "opt", "proc", "tmp"):
        (tmp_path / "small" / name).mkdir(parents=True)
    return tmp_path / "small"


def install(tmp_path: Path, root: Path, program: Path, fetch: Callable[[], dict[str, Path]] = dict) -> Path:
    """Run `program` as the `install` of an implementation on a root; returns the root that it makes."""
    files = tmp_path / "files"
    files.mkdir(exist_ok=True)
    shutil.copy(program, files / "install")
    base = {"root": str(root), "root_digest": "0"}
    store = Store(tmp_path / "store", lambda _: None)
    return Path(roots.installed(store, print, "trial", base, "1", files, fetch, tmp_path / "log")["root"])


def compiled(tmp_path: Path, text: str) -> Path:
    (tmp_path / "install.c").write_text(text)
    subprocess.run(["gcc", "-static", "-o", tmp_path / "install", tmp_path / "install.c"], check=True)
    return tmp_path / "install"


def called_with(tmp_path: Path, program: Path, words: Sequence[str]) -> Path:
    """A program of C that becomes another one with these arguments; `install` gets none."""
    text = ", ".join(f'"{word}"' for word in ("escape", *words))
    call = f'execl("/opt/fetched/escape/{program.name}", {text}, (char *)0)'
    return compiled(tmp_path, f"#include <unistd.h>\nint main(void) {{ return {call}; }}\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="mmdebstrap ran `install` as root only for root")
def test_where_there_are_no_walls_the_attacks_arrive(
    tmp_path: Path, small: Path, escape: Path, targets: list[str]
) -> None:
    """As mmdebstrap in mode root ran `install`: in a chroot with a /proc."""
    shutil.copy(escape, small)
    script = 'mount -t proc proc "$1/proc"; shift; trap \'umount "$0/proc"\' EXIT; chroot "$@"'
    words = ["unshare", "--mount", "sh", "-euc", script, str(small), str(small), str(small), "/escape", "/reached"]
    subprocess.run([*words, *targets], check=True)
    assert set((small / "reached").read_text().splitlines()) >= WITHOUT_WALLS


def test_an_install_reaches_nothing_of_the_host(tmp_path: Path, small: Path, escape: Path, targets: list[str]) -> None:
    calling = called_with(tmp_path, escape, ["/reached", *targets])
    root = install(tmp_path, small, calling, lambda: {"escape": escape.parent})
    assert sorted(path.name for path in root.iterdir()) == sorted(path.name for path in small.iterdir())
    assert list((root / "opt").iterdir()) == []


def test_a_build_reaches_nothing_of_the_host(tmp_path: Path, escape: Path, targets: list[str]) -> None:
    (tmp_path / "work").mkdir()
    words = ["/seen/escape/escape", "/build/reached", *targets]
    see = {"/seen/escape": escape.parent}
    build_root().run(words, tmp_path / "log", "Building", work=tmp_path / "work", see=see)
    assert list((tmp_path / "work").iterdir()) == []


def test_a_build_does_not_type_into_the_terminal_of_its_user(tmp_path: Path) -> None:
    """It could open the terminal, and TIOCSTI types there what the user's shell runs afterwards."""
    for session in ([], ["--new-session"]):
        assert not session or session[0] in walls.command(Path("/"), ["true"], tmp_path, {}, {})
        (tmp_path / "said").unlink(missing_ok=True)
        child, terminal = pty.fork()
        if not child:
            script = f"(: </dev/tty) 2>/dev/null && echo reached >{tmp_path}/said"
            words = ["bwrap", *session, "--bind", "/", "/", "--dev", "/dev", "bash", "-c", script]
            os.execvp("bwrap", words)  # noqa: S606
        os.waitpid(child, 0)
        os.close(terminal)
        assert (tmp_path / "said").exists() is not bool(session)


def test_an_install_changes_its_own_root_with_what_was_fetched(tmp_path: Path, small: Path) -> None:
    brought = tmp_path / "brought"
    brought.mkdir()
    (brought / "file").write_text("content")
    text = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
  char path[99], text[9] = "";
  snprintf(path, sizeof path, "%s/one/file", getenv("FETCHED"));
  FILE *from = fopen(path, "r"), *to = fopen("/etc/made", "w");
  fputs(fgets(text, sizeof text, from), to);
  fclose(to);
  return chmod("/etc/made", 06755) || getuid();
}
"""
    root = install(tmp_path, small, compiled(tmp_path, text), lambda: {"one": brought})
    made = root / "etc" / "made"
    assert made.read_text() == "content"
    assert stat.S_IMODE(made.stat().st_mode) == 0o755, "not set-user-ID for every user of this host"
    assert made.stat().st_mtime == int(EPOCH)
    assert not (small / "etc" / "made").exists()


def test_what_an_install_leaves_in_place_of_a_folder_is_not_followed(tmp_path: Path, small: Path) -> None:
    """The places where its files were seen are removed afterwards; here they lie behind a link."""
    victim = tmp_path / "victim" / "implementation"
    victim.mkdir(parents=True)
    call = f'rename("/opt", "/away") || symlink("{victim.parent}", "/opt")'
    text = f"#include <stdio.h>\n#include <unistd.h>\nint main(void) {{ return {call}; }}\n"
    install(tmp_path, small, compiled(tmp_path, text))
    assert victim.exists()


def test_what_is_being_built_is_closed_to_other_users(tmp_path: Path) -> None:
    """They could run what a build marks set-user-ID."""
    modes = []
    entry = Store(tmp_path).ensure("trial", "0" * 64, lambda folder: modes.append(stat.S_IMODE(folder.stat().st_mode)))
    assert modes == [0o700]
    assert stat.S_IMODE(entry.stat().st_mode) == 0o777 & ~_umask()


def test_other_users_cannot_change_what_a_build_made(tmp_path: Path) -> None:
    for name, mode in {"files": 0o1777, "files/inner": 0o2777, "files/inner/tool": 0o6777, "root/tmp": 0o1777}.items():
        path = tmp_path / name
        path.mkdir(parents=True) if name != "files/inner/tool" else path.touch()
        path.chmod(mode)
    (tmp_path / "files/link").symlink_to("/etc/passwd")
    (tmp_path / "root/tool").touch()
    (tmp_path / "root/tool").chmod(0o6775)
    without_privileges(tmp_path / "files")
    without_privileges(tmp_path / "root")
    found = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.lstat().st_mode) for path in tmp_path.rglob("*")}
    assert {found[name] for name in ("files", "files/inner", "files/inner/tool")} == {0o755}
    assert (found["root/tmp"], found["root/tool"]) == (0o1777, 0o775)  # as Debian has them


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An implementation's folder with a crate that needs nothing."""
    home = tmp_path / "mine"
    (home / "src").mkdir(parents=True)
    (home / "src" / "main.rs").write_text("fn main() {}\n")
    (home / "Cargo.toml").write_text('[package]\nname = "mine"\nversion = "1.0.0"\nedition = "2021"\n')
    (home / "Cargo.lock").write_text('version = 3\n\n[[package]]\nname = "mine"\nversion = "1.0.0"\n')
    return home


def vendored(tmp_path: Path, home: Path, lock: str) -> dict[str, Path]:
    wanted = [fetched.identified({"lock": lock}, [home])]
    return fetched.fetch(Store(tmp_path / "store", lambda _: None), lambda _: None, wanted, [home], tmp_path / "log")


@pytest.mark.skipif(shutil.which("rustup") is None, reason="rustup is not installed")
def test_a_folder_with_crates_chooses_no_cargo_of_its_own(tmp_path: Path, folder: Path) -> None:
    """Its rust-toolchain.toml named a program of its own, which rustup ran on the host in place of cargo."""
    own = folder / "tools" / "bin" / "cargo"
    own.parent.mkdir(parents=True)
    own.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    own.chmod(0o755)
    (folder / "rust-toolchain.toml").write_text(f'[toolchain]\npath = "{folder}/tools"\n')
    (folder / ".cargo").mkdir()
    (folder / ".cargo" / "config.toml").write_text('[build]\nrustc = "tools/bin/cargo"\n')
    vendored(tmp_path, folder, "Cargo.lock")
    assert not (tmp_path / "ran").exists()


def test_sources_come_from_a_registry(tmp_path: Path, folder: Path) -> None:
    with (folder / "Cargo.lock").open("a") as lock:
        lock.write('\n[[package]]\nname = "other"\nversion = "1.0.0"\nsource = "git+file:///home/other#0"\n')
    with pytest.raises(ImageError, match=r"Cargo.lock: source: found 'git\+file:///home/other#0'; allowed: a registry"):
        vendored(tmp_path, folder, "Cargo.lock")
    (folder / "go.sum").touch()


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
@pytest.mark.parametrize(
    "outside",
    ["/home/other", "../other", '"/home/other"', "./x/../../other", r'"\x2fhome/other"', "./.."],
)
def test_modules_come_from_a_registry_or_the_folder(tmp_path: Path, folder: Path, outside: str) -> None:
    """Go's syntax has strings with escapes."""
    (folder / "go.sum").touch()
    (folder / "go.mod").write_text(f"module mine\n\ngo 1.22\n\nreplace (\n\texample.org/x => {outside}\n)\n")
    with pytest.raises(ImageError, match=r"go.mod: replace: found \S+; allowed: a module, or a folder below"):
        vendored(tmp_path, folder, "go.sum")


@pytest.mark.parametrize(("lock", "client"), [("Cargo.lock", "cargo metadata"), ("go.sum", "go mod")])
@pytest.mark.parametrize("fetches", [False, True])
def test_a_client_that_never_ends_is_ended(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, lock: str, client: str, fetches: bool
) -> None:
    """With what it has started: what a manifest means is asked first, then what it names is fetched."""
    (folder / "go.sum").touch()
    (folder / "go.mod").write_text("module mine\n")
    tool = tmp_path / "bin" / client.split()[0]
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    if fetches:
        said = '{\\"packages\\": [], \\"workspace_root\\": \\"$PWD\\"}'
        tool.write_text(f'#!/bin/sh\ncase $2 in --no-deps|edit) echo "{said}"; exit; esac\n')
    with tool.open("a") as file:
        file.write(f"tail -f /dev/null & echo $! >{tmp_path}/started; wait\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(fetched if fetches else manifests, "_LIMIT_S" if fetches else "LIMIT_S", 2.0)
    if fetches and lock == "Cargo.lock":
        (folder / "Cargo.lock").write_text("version = 3\n")
        client = "cargo vendor"
    with pytest.raises(ImageError, match=f"after 2 s `{client}` still ran, so it was ended"):
        vendored(tmp_path, folder, lock)
    started = Path("/proc", (tmp_path / "started").read_text().strip(), "stat")
    assert not started.exists() or started.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "Cargo.toml", "Cargo.lock"])
def test_no_client_reads_a_huge_manifest(tmp_path: Path, folder: Path, name: str) -> None:
    (folder / "go.sum").touch()
    (folder / "go.mod").write_text("module mine\n")
    with (folder / name).open("a") as file:
        file.truncate(manifests.LARGEST_BYTES + 1)
    with pytest.raises(ImageError, match=rf"{name}: found 4194305 bytes; allowed: 4194304 at most"):
        vendored(tmp_path, folder, "go.sum" if name.startswith("go") else "Cargo.lock")


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_a_link_leads_to_no_module_outside(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "private").mkdir()
    (folder / "x").symlink_to(tmp_path / "private")
    (folder / "go.sum").touch()
    (folder / "go.mod").write_text("module mine\n\ngo 1.22\n\nreplace example.org/x => ./x\n")
    with pytest.raises(ImageError, match=r"go.mod: replace: found ./x; allowed: a module, or a folder below"):
        vendored(tmp_path, folder, "go.sum")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        ('[dependencies]\nother = {path = "/home/other"}\n', r"other: found the path /home/other; allowed: a folder"),
        ('[dependencies]\nother = {path = "..\\u002f../other"}\n', r"other: found the path /\S*other; allowed"),
        ('[dependencies]\nother = {git = "file:///home/other"}\n', r"other: found the source git\+file:///home/other;"),
        ('[build-dependencies]\nother = {path = "/home/other"}\n', r"other: found the path /home/other; allowed"),
        ('[target."cfg(unix)".dependencies]\nother.path = "/home/other"\n', r"other: found the path /home/other;"),
        ('[patch.crates-io]\nother = {path = "/home/other"}\n', "is refused below"),
        (
            '[patch.crates-io]\nother = {git = "file:///home/other"}\n',
            r"patch.crates-io: other: found .*git.*; allowed",
        ),
        ('[replace]\n"other:1.0.0" = {git = "file:///home/other"}\n', r"replace: other:1.0.0: found .*git.*; allowed"),
        (
            '[workspace]\nmembers = ["{private}"]\n',
            "cargo cannot read it: .*not hierarchically below the workspace root",
        ),
    ],
)
def test_crates_come_from_a_registry_or_the_folder(tmp_path: Path, folder: Path, manifest: str, found: str) -> None:
    private = tmp_path / "private"
    shutil.copytree(folder, private)
    (private / "Cargo.toml").write_text((private / "Cargo.toml").read_text().replace('"mine"', '"private"'))
    with (folder / "Cargo.toml").open("a") as file:
        file.write(manifest.replace("{private}", str(private)))
    if "is refused below" in found:  # a patch that is used is in the lock, without a source
        with (folder / "Cargo.lock").open("a") as lock:
            lock.write('\n[[package]]\nname = "other"\nversion = "1.0.0"\n')
        found = r"Cargo.lock: other: found no source; allowed: a registry"
    with pytest.raises(ImageError, match=found):
        vendored(tmp_path, folder, "Cargo.lock")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_a_crate_below_the_folder_is_its_own(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, folder / "inner")
    (folder / "inner/Cargo.toml").write_text((folder / "Cargo.toml").read_text().replace('"mine"', '"inner"'))
    with (folder / "Cargo.toml").open("a") as file:
        file.write('[dependencies]\ninner = {path = "inner"}\n')
    with (folder / "Cargo.lock").open("a") as lock:
        lock.write('dependencies = ["inner"]\n\n[[package]]\nname = "inner"\nversion = "1.0.0"\n')
    vendored(tmp_path, folder, "Cargo.lock")
    shutil.move(folder / "inner", tmp_path / "inner")
    (folder / "inner").symlink_to(tmp_path / "inner")
    with pytest.raises(ImageError, match=r"inner: found the path /\S*inner; allowed: a folder below this one"):
        vendored(tmp_path / "inner", folder, "Cargo.lock")  # another store, which does not have it yet


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_a_module_below_the_folder_is_its_own(tmp_path: Path, folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "x/go.mod").write_text("module example.org/x\n\ngo 1.22\n")
    (folder / "main.go").write_text('package main\n\nimport _ "example.org/x"\n\nfunc main() {}\n')
    replaced = "require example.org/x v0.0.0\n\nreplace example.org/x => ./x\n"
    (folder / "go.mod").write_text(f"module mine\n\ngo 1.22\n\n{replaced}")
    (folder / "go.sum").touch()
    for text in ("package x // one\n", "package x // two\n"):
        (folder / "x/x.go").write_text(text)
        assert (vendored(tmp_path, folder, "go.sum")["go"] / "example.org/x/x.go").read_text() == text


def test_a_script_names_no_file_beside_it_as_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`dependencies = ["mine.zip"]` ran the setup.py in that file on the host."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "setup.py").write_text(f"open('{tmp_path}/ran', 'w')\n")
    shutil.make_archive(str(tmp_path / "mine"), "zip", tmp_path, "mine")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImageError, match=r"pip has no wheels of mine\.zip"):
        lab.with_python(Store(tmp_path / "store", lambda _: None), print, ["mine.zip"])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("words", [["observe", "nothing.pcap"], ["exec", "--pip", "flask", "true.py"]])
def test_a_command_in_a_strangers_folder_runs_none_of_its_modules(words: list[str], tmp_path: Path) -> None:
    """`python -m` looks there first."""
    for module in ("analysis", "json", "pip"):
        (tmp_path / f"{module}.py").write_text(f"open('{tmp_path}/ran', 'w')\n")
    (tmp_path / "true.py").touch()
    program = Path(sys.executable).with_name("testbed")
    subprocess.run([program, *words], cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert not (tmp_path / "ran").exists()
