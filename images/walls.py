# SPDX-License-Identifier: MIT
"""The walls around a build: it sees the build root and its own folder, and no network.

bubblewrap makes them. Where the host forbids user namespaces and TESTBED_UNCONFINED=1 says that a container is wall
enough, as while the project's own container image is built, a copy of the build root is entered with chroot.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from images.bounded import Bounds
from images.errors import ImageError

BOUNDS = Bounds()
UNCONFINED = "TESTBED_UNCONFINED"
WORK = "/build"
"""Where a build's own folder is inside."""
SEEN = "/seen"
"""Folder inside for everything else that a build can see."""
PLACES = (WORK, SEEN, "/dev", "/proc", "/tmp")  # noqa: S108
"""Folders that a build root must have."""


def unconfined() -> bool:
    """Tell whether this host has no walls."""
    return os.environ.get(UNCONFINED) == "1"


_WALLS = ["bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
_WALLS += ["--new-session"]  # away from the user's terminal, into which it could type
# read-only: /proc/sys/kernel/core_pattern names a program that the host runs, and root's files there are root's inside
_OWN = ["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
for _place in ("/dev/shm", "/tmp"):  # noqa: S108  in memory
    _OWN += ["--size", str(2 << 30), "--tmpfs", _place]
_OWN += ["--remount-ro", "/dev"]


def command(
    root: Path, words: Sequence[str], work: Path, see: Mapping[str, Path], environment: Mapping[str, str]
) -> list[str]:
    """Return the command that runs `words` in `root`, with the folder `work` as /build and `see` by their paths there.

    Raises ImageError if neither walls nor chroot are possible.
    """
    variables = [f"{name}={value}" for name, value in environment.items()]
    inside = ["/usr/bin/env", "--ignore-environment", f"--chdir={WORK}", *variables, *words]
    if unconfined():
        return _with_chroot(root, inside, work, see)
    # the same user inside, whoever builds
    command = [*_WALLS, *_no_namespaces(), "--uid", "1000", "--gid", "1000", "--ro-bind", str(root), "/", *_OWN]
    command += ["--bind", str(work), WORK, "--tmpfs", SEEN, *_seen(see), "--remount-ro", SEEN, *inside]
    return BOUNDS.command(work, command)


def changing(root: Path, words: Sequence[str], see: Mapping[str, Path], environment: Mapping[str, str]) -> list[str]:
    """Return the command that runs `words` in `root`, which it can change: as its root user, without capabilities."""
    variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
    command = [*_WALLS, *_no_namespaces(), "--uid", "0", "--gid", "0", "--bind", str(root), "/", *_OWN, *_seen(see)]
    return BOUNDS.command(root, [*command, "--clearenv", *variables, "--chdir", "/", *words])


@cache
def _no_namespaces() -> list[str]:
    """Keep a build from making namespaces, in which it would reach more of the host's kernel; bubblewrap 0.8 can."""
    told = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False).stdout
    return ["--unshare-user", "--disable-userns"] if "--disable-userns" in told else []


def _seen(see: Mapping[str, Path]) -> list[str]:
    return [word for place, path in see.items() for word in ("--ro-bind", str(path), place)]


def _with_chroot(root: Path, inside: Sequence[str], work: Path, see: Mapping[str, Path]) -> list[str]:
    if os.geteuid() != 0:
        raise ImageError(f"without user namespaces ({UNCONFINED} is set), only root can build")
    copy = work.with_name(f".{work.name}.root")
    script = """
copy=$1 root=$2 work=$3 count=$4
shift 4
trap 'mv "$copy/build" "$work" 2>/dev/null; rm -rf "$copy"' EXIT
cp -a "$root" "$copy"
rmdir "$copy/build"
mv "$work" "$copy/build"
mknod "$copy/dev/null" c 1 3
chmod 666 "$copy/dev/null"
while [ "$count" -gt 0 ]; do
	mkdir -p "$(dirname "$copy$1")"
	cp -a "$2" "$copy$1"
	count=$((count - 1))
	shift 2
done
chroot "$copy" "$@"
"""
    pairs = [word for place, path in see.items() for word in (place, str(path))]
    return ["sh", "-euc", script, "-", str(copy), str(root), str(work), str(len(see)), *pairs, *inside]
