"""Flows of programs under test: each side runs its implementation's `endpoint` (docs/reference/implementations.md)."""

import json
import os
import signal
import subprocess
from typing import Any

PROGRAMS = "/opt/programs"
"""A folder for each program of the run, with its `files`, and with its `root` unless that is the guest's own."""

PAYLOAD = "/logs/payload"
"""File into which a receiver writes the data it got, when `testbed check` asks for it."""

_ENTER = "/opt/tools/enter"
_LONGEST_NUMBER = 32  # bytes
_NOWHERE = "/run/logs"  # of a program that is only asked for its version
_ENDPOINT = "/opt/implementation/endpoint"
_NO_INTERPRETER = f"enter: cannot run {_ENDPOINT}: No such file or directory"  # it is there: images checks that
_LONGEST_LINE = 256  # bytes, as the kernel reads of it
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",  # noqa: S108  the program's own
    "LANG": "C.UTF-8",
}


CAPABILITIES = {
    "chown": 0,
    "dac_override": 1,
    "fowner": 3,
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "net_bind_service": 10,
    "net_admin": 12,
    "net_raw": 13,
    "ipc_lock": 14,
    "sys_nice": 23,
}
"""What an implementation may ask for, as in its schema, with the kernel's numbers. None reaches beyond its own files,
processes and host: neither routers and the agent's processes, nor mounts and clocks."""


class first_of_its_own:  # noqa: N801  a context manager reads like a verb
    """Context: the process that is started in it is the first one of a new PID namespace. It must be one only."""

    _home: int | None = None

    def __enter__(self) -> None:
        if first_of_its_own._home is None:
            first_of_its_own._home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        os.unshare(os.CLONE_NEWPID)

    def __exit__(self, *_: object) -> None:
        if first_of_its_own._home is not None:
            os.setns(first_of_its_own._home, os.CLONE_NEWPID)


def _enter(name: str, implementation: dict[str, Any], logs: str, start_ns: int) -> list[str]:
    """Return the words that start a program in its root at `start_ns` (0: at once), with `logs` as its /logs."""
    own = f"{PROGRAMS}/{name}/root"
    kept = sum(1 << CAPABILITIES[asked] for asked in implementation["capabilities"])
    root = own if os.path.isdir(own) else "/"
    return [_ENTER, root, f"{PROGRAMS}/{name}/files", logs, str(start_ns), f"{kept:x}"]


def exit_code(status: int) -> int:
    """Return how the program ended whose `enter` ended with `status`: its exit status, negative: by that signal."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code - 128 in signal.valid_signals() else code


def version(name: str, implementation: dict[str, Any]) -> str:
    """Return the version that the program reports.

    Raises:
        RuntimeError: its version_command fails; the message has the last line that it wrote.
    """
    os.makedirs(_NOWHERE, exist_ok=True)
    words = [*_enter(name, implementation, _NOWHERE, 0), *implementation["version_command"]]
    environment = _ENVIRONMENT | implementation["environment"]
    with first_of_its_own():
        asked = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if asked.returncode:
        [reason] = asked.stderr.splitlines()[-1:] or ["and wrote no reason"]
        command = " ".join(implementation["version_command"])
        if reason == _NO_INTERPRETER:
            with open(f"{PROGRAMS}/{name}/files/endpoint", "rb") as file:
                first = file.readline(_LONGEST_LINE).decode(errors="replace").strip()
            reason = f"its root lacks the program that its first line names, {first}" if first[:2] == "#!" else reason
        raise RuntimeError(f"{name}: its version_command `{command}` exited with {asked.returncode}: {reason}")
    return asked.stdout.strip()


def start(role: str, node: Any, peer: str, port: int, run: dict[str, Any], flow: dict[str, Any], log: str) -> int:
    """Start one side of a flow; a sender waits for the flow's start. Returns its process.

    Its files go to the folder `log` (its LOGDIR), its standard output and errors to files beside that folder.
    """
    os.mkdir(log)
    name, params = flow["implementation"], flow["params"]
    if role == "receiver" and "receiver_implementation" in flow:
        name, params = flow["receiver_implementation"], flow["receiver_params"]
    implementation = run["implementations"][name]
    environment = _ENVIRONMENT | implementation["environment"]
    environment |= {
        "LOGDIR": "/logs",
        "ROLE": role,
        "PEER": peer,
        "PORT": str(port),
        "SEED": str(run["seed"]),
        "PARAMS": json.dumps(params if role not in flow.get("unknown_to", ()) else {"no_such_parameter": 1}),
        "ORIGIN_NS": str(run["origin_ns"]),
        "SAMPLE_NS": str(run["sample_ns"]),
    }
    if flow["bytes"] is None:
        environment["DURATION"] = f"{(flow['stop_ns'] - flow['start_ns']) / 1e9:.9f}"
    else:
        environment["BYTES"] = str(flow["bytes"])
    if "payload" in flow:
        environment["PAYLOAD"] = flow["payload"]
    start_ns = run["origin_ns"] + flow["start_ns"] if role == "sender" else 0
    words = [*_enter(name, implementation, log, start_ns), _ENDPOINT]
    with open(f"{log}.out", "w") as output, open(f"{log}.err", "w") as errors, first_of_its_own():
        return int(node.spawn(words, output.fileno(), errors.fileno(), environment))


def received_bytes(log: str) -> int:
    """Return the number of bytes that a receiver reports; 0 if it reports none.

    The file may be anything: a link leads nowhere here, and a pipe does not keep this waiting.
    """
    try:
        file = os.open(f"{log}/received_bytes", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        return int(os.read(file, _LONGEST_NUMBER))
    except (OSError, ValueError):
        return 0
    finally:
        os.close(file)


def keep_window(log: str, trace: str) -> None:
    """Move the samples that a sender wrote to the run's traces."""
    if os.path.exists(f"{log}/cwnd.csv"):
        os.rename(f"{log}/cwnd.csv", trace)
