"""Collects configuration commands and runs them in as few processes as there are namespaces.

Starting a process costs a guest several milliseconds, and Mininet starts some 150 for a dumbbell. ``ip -batch`` and
``tc -batch`` take any number of commands in one process.
"""

import os
from collections import defaultdict


class BatchError(Exception):
    """A configuration command failed; the message has the namespace, the tool and its output."""


class Batch:
    """Lines for ``ip`` and ``tc``, by network namespace (None: the first one, where links are made)."""

    def __init__(self) -> None:
        self._links: list[str] = []
        self._lines: dict[tuple[int | None, str], list[str]] = defaultdict(list)
        self._names: dict[int | None, str] = {None: "the first namespace"}

    def link(self, line: str) -> None:
        """Add a line for ``ip`` in the first namespace, run before all others."""
        self._links.append(line)

    def ip(self, namespace: int | None, name: str, line: str) -> None:
        """Add a line for ``ip`` in the namespace behind descriptor `namespace`, that of node `name`."""
        self._names[namespace] = name
        self._lines[namespace, "ip"].append(line)

    def tc(self, namespace: int | None, name: str, line: str) -> None:
        """Add a line for ``tc``; see `ip`."""
        self._names[namespace] = name
        self._lines[namespace, "tc"].append(line)

    def run(self) -> None:
        """Run and forget all lines: first links, then addresses and routes of each namespace, then qdiscs.

        Raises:
            BatchError: a command failed.
        """
        links, lines = self._links, self._lines
        self._links, self._lines = [], defaultdict(list)
        if links:
            self._run_one(None, "ip", links)
        for (namespace, tool), batch in sorted(lines.items(), key=lambda item: item[0][1]):
            self._run_one(namespace, tool, batch)

    def _run_one(self, namespace: int | None, tool: str, lines: list[str]) -> None:
        commands = os.memfd_create(tool)
        os.write(commands, "\n".join(lines).encode() + b"\n")
        os.lseek(commands, 0, os.SEEK_SET)
        errors = os.memfd_create("errors")
        with entered(namespace):
            process = os.posix_spawnp(
                tool,
                [tool, "-batch", "-"],
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, commands, 0),
                    (os.POSIX_SPAWN_DUP2, errors, 1),
                    (os.POSIX_SPAWN_DUP2, errors, 2),
                ],
            )
        _, status = os.waitpid(process, 0)
        os.close(commands)
        words = os.pread(errors, 4096, 0).decode(errors="replace").strip()
        os.close(errors)
        if status:
            raise BatchError(f"{self._names[namespace]}: {tool}: {words}\n" + "\n".join(lines))


class entered:  # noqa: N801  a context manager reads like a verb
    """Context: this process is in the network namespace behind a descriptor (None: it stays where it is)."""

    _home: int | None = None

    def __init__(self, namespace: int | None) -> None:
        self._namespace = namespace

    def __enter__(self) -> None:
        if entered._home is None:
            entered._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if self._namespace is not None:
            os.setns(self._namespace, os.CLONE_NEWNET)

    def __exit__(self, *_: object) -> None:
        if self._namespace is not None and entered._home is not None:
            os.setns(entered._home, os.CLONE_NEWNET)
