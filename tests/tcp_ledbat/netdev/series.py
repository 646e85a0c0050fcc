"""Patches that add tcp_ledbat to the kernel that source.lock names: `python -m tests.tcp_ledbat.netdev FOLDER`.

`git am` takes them on that kernel's source. tcp_ledbat.c is that of the module, as a file of the kernel's own tree:
without the parts for packages and earlier kernels, and with a structure of its own for what it reports.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from images import module
from images.cache import Store
from images.kernel import sources

HERE: Final = Path(__file__).parent
COVER: Final = "cover-letter.txt"
# these are not there in the kernel's own tree
UNDEFINED: Final = ("LEDBAT_OUT_OF_TREE", "LEDBAT_NO_TCP_USEC_TS", "LEDBAT_NO_TX_START")
# whoever sends the patches has an address, and signs them
AUTHOR: Final = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "The LEDBAT testbed developers"),
        ("EMAIL", "ledbat-testbed@example.invalid"),
        ("DATE", "2026-01-01T00:00:00Z"),
    )
}
INET_DIAG: Final = "include/uapi/linux/inet_diag.h"
KCONFIG, MAKEFILE = "net/ipv4/Kconfig", "net/ipv4/Makefile"
SOURCE: Final = "net/ipv4/tcp_ledbat.c"
INDEX: Final = "Documentation/networking/index.rst"
PAGE: Final = "Documentation/networking/tcp_ledbat.rst"
TESTS, TESTS_CONFIG = "tools/testing/selftests/net/Makefile", "tools/testing/selftests/net/config"
TEST: Final = "tools/testing/selftests/net/tcp_ledbat.py"
MAINTAINERS: Final = "MAINTAINERS"
CHANGED: Final = (MAINTAINERS, INET_DIAG, KCONFIG, MAKEFILE, INDEX, TESTS, TESTS_CONFIG)

_CONDITION: Final = re.compile(r"#(?P<word>ifdef|ifndef|if|else|endif)\b\s*(?P<name>\w*)")


@dataclass(frozen=True)
class Patch:
    """What a patch says, and what it does to a source tree."""

    subject: str
    body: str
    change: Callable[[Path], None]


def in_tree(text: str) -> str:
    """Return the module's source as a file of the kernel's own tree. ValueError if it is not as expected here."""
    text = "".join(_resolved(text.splitlines(keepends=True)))
    text = _replaced(
        text, r"/\*\n \* Answer to TCP_CC_INFO\..*?(?=^static struct tcp_congestion_ops)", _file("get_info.c")
    )
    text = _replaced(
        text, r"\telse if \(event == CA_EVENT_TX_START\)[^\n]*\n\t\tledbat_cwnd_event_tx_start\(sk\);\n", ""
    )
    return _replaced(text, r'MODULE_VERSION\("[^"]*"\);\n', "")


def _resolved(lines: list[str]) -> Iterator[str]:
    """Yield what a preprocessor leaves that knows only the names in UNDEFINED, and that they are undefined."""
    stack: list[bool | None] = []  # None: a condition that stays
    for line in lines:
        match = _CONDITION.match(line)
        if match is None:
            if False not in stack:
                yield line
            continue
        if match["word"] == "endif":
            ours = stack.pop() is not None
        elif match["word"] == "else":
            ours = stack[-1] is not None
            if ours:
                stack[-1] = not stack[-1]
        else:
            ours = match["name"] in UNDEFINED
            stack.append(match["word"] == "ifndef" if ours else None)
        if not ours and False not in stack:
            yield line


def _replaced(text: str, pattern: str, new: str) -> str:
    changed, count = re.subn(pattern, lambda _: new, text, flags=re.M | re.S)
    if count != 1:
        raise ValueError(f"{pattern!r} is found {count} times; expected: once")
    return changed


def _file(name: str) -> str:
    return (HERE / name).read_text()


def _edit(tree: Path, path: str, pattern: str, new: str) -> None:
    """Put `new` before the only match of a pattern in a file."""
    file = tree / path
    file.write_text(_replaced(file.read_text(), f"(?={pattern})", new))


def _add_information(tree: Path) -> None:
    _edit(tree, INET_DIAG, r"^\t__INET_DIAG_MAX,", "\tINET_DIAG_LEDBATINFO,\n")
    _edit(tree, INET_DIAG, r"^union tcp_cc_info \{", _file("info.h"))
    _edit(tree, INET_DIAG, r"(?<=struct tcp_bbr_info\tbbr;\n)\};", "\tstruct tcp_ledbat_info\tledbat;\n")


def _add_controls(tree: Path) -> None:
    source = (module.HERE / "tcp_ledbat" / "tcp_ledbat.c").read_text()
    (tree / SOURCE).write_text(in_tree(source))
    _edit(tree, KCONFIG, r'^choice\n\tprompt "Default TCP congestion control"', _file("Kconfig"))
    _edit(tree, MAINTAINERS, r"^LEGO MINDSTORMS EV3\n", _file("maintainers.txt"))
    _edit(tree, MAKEFILE, r"^obj-\$\(CONFIG_TCP_CONG_LP\)", "obj-$(CONFIG_TCP_CONG_LEDBAT) += tcp_ledbat.o\n")


def _add_page(tree: Path) -> None:
    (tree / PAGE).write_text(_file("tcp_ledbat.rst"))
    _edit(tree, INDEX, r"^   tcp-thin\n", "   tcp_ledbat\n")


def _add_test(tree: Path) -> None:
    (tree / TEST).write_text(_file("tcp_ledbat.py"))
    (tree / TEST).chmod(0o755)
    _edit(tree, TESTS, r"^\ttest_bpf\.sh ", "\ttcp_ledbat.py \\\n")
    _edit(tree, TESTS_CONFIG, r"^CONFIG_TEST_BLACKHOLE_DEV=", "CONFIG_TCP_CONG_LEDBAT=m\n")


PATCHES: Final = (
    Patch(
        "inet_diag: add INET_DIAG_LEDBATINFO",
        "LEDBAT controls the window by delays that no other field of inet_diag\n"
        "shows: the base delay, the current delay and their difference, which is\n"
        "what it compares with its target.",
        _add_information,
    ),
    Patch(
        "tcp: add LEDBAT and LEDBAT++ congestion control",
        "Two controls for transfers in the background: ledbat, RFC 6817, and\n"
        "ledbatpp, draft-irtf-iccrg-ledbat-plus-plus-01. They keep the queue at a\n"
        "target that they see in the delay, and yield to senders that fill it\n"
        "beyond. ledbatpp also slows down now and then, so that a flow that starts\n"
        "later sees the path without a queue.\n\n"
        "The state is in the socket's private area; nothing is allocated.",
        _add_controls,
    ),
    Patch(
        "Documentation: networking: add LEDBAT and LEDBAT++",
        "Say how they measure delay, what may be set, what they report, and where\nthey do not yield.",
        _add_page,
    ),
    Patch(
        "selftests: net: add tcp_ledbat.py",
        "Over a router in namespaces of its own: two packets at the start, a full\n"
        "link with a queue no longer than the target, slowdowns, what is reported,\n"
        "and less than a tenth of the link beside CUBIC.",
        _add_test,
    ),
)


def unpacked(store: Store, into: Path, *paths: str, without: Sequence[str] = ()) -> None:
    """Unpack files and folders of the locked kernel's source into a folder, without what matches these patterns."""
    deb, name = sources.fetch(store, print), sources.locked_source().name
    packed = 'dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "*/$2.tar.xz" | tar -xJ --strip-components=1 "${@:3}"'
    words = [*(f"--exclude={name}/{pattern}" for pattern in without), *(f"{name}/{path}" for path in paths)]
    command = ["bash", "-euo", "pipefail", "-c", packed, "-", str(deb), name, "--no-same-owner", "-C", str(into)]
    subprocess.run([*command, *words], check=True)


def write(tree: Path, into: Path) -> list[Path]:
    """Change a source tree, of which the files CHANGED matter, and write a patch for each step; return the patches."""
    into.mkdir(parents=True, exist_ok=True)
    repository(tree)
    for patch in PATCHES:
        patch.change(tree)
        git(tree, "add", "--all", ".")
        git(tree, "commit", "--quiet", "--message", f"{patch.subject}\n\n{patch.body}")
    words = ("--quiet", "--zero-commit", "--no-signature", "--output-directory", str(into.resolve()))
    git(tree, "format-patch", *words, f"-{len(PATCHES)}")
    (into / COVER).write_text(_file(COVER))
    return sorted(into.glob("*.patch"))


def repository(tree: Path) -> None:
    """Make what is in a folder the first commit of a repository."""
    git(tree, "init", "--quiet")
    git(tree, "add", "--all", ".")
    git(tree, "commit", "--quiet", "--message", "as it is")


def git(tree: Path, *words: str) -> None:
    """Run git in a folder, without the user's own settings. Raises CalledProcessError."""
    settings = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **AUTHOR}
    subprocess.run(["git", "-C", str(tree), *words], check=True, env=os.environ | settings)
