"""Flows of programs under test: each side runs its implementation's `endpoint` (docs/implementations.md)."""

import json
import os
import subprocess
from typing import Any

PROGRAMS = "/guest/programs"
"""In the sandbox around the guest: a folder for each program of the run, with its `files` and its `root`."""

PAYLOAD = "/logs/payload"
"""File into which a receiver writes the data it got, when `testbed check` asks for it."""

_ENTER = "/opt/tools/enter"
_ENDPOINT = "/opt/implementation/endpoint"
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",  # noqa: S108  the program's own
    "LANG": "C.UTF-8",
}


def enter(implementation: str, logs: str, start_ns: int) -> list[str]:
    """Return the words that start a program in its root at `start_ns` (0: at once), with `logs` as its /logs."""
    return [_ENTER, f"{PROGRAMS}/{implementation}/root", f"{PROGRAMS}/{implementation}/files", logs, str(start_ns)]


def version(name: str, implementation: dict[str, Any]) -> str:
    """Return the version that the program reports.

    Raises:
        RuntimeError: its version_command fails; the message has the last line that it wrote.
    """
    words = [*enter(name, "/tmp", 0), *implementation["version_command"]]  # noqa: S108  the guest's own
    environment = _ENVIRONMENT | implementation["environment"]
    asked = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if asked.returncode:
        [reason] = asked.stderr.splitlines()[-1:] or ["and wrote no reason"]
        command = " ".join(implementation["version_command"])
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
    environment = _ENVIRONMENT | run["implementations"][name]["environment"]
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
    words = [*enter(name, log, start_ns), _ENDPOINT]
    with open(f"{log}.out", "w") as output, open(f"{log}.err", "w") as errors:
        return int(node.spawn(words, output.fileno(), errors.fileno(), environment))


def received_bytes(log: str) -> int:
    """Return the number of bytes that a receiver reports; 0 if it reports none."""
    try:
        with open(f"{log}/received_bytes") as file:
            return int(file.read())
    except (FileNotFoundError, ValueError):
        return 0


def keep_window(log: str, trace: str) -> None:
    """Move the samples that a sender wrote to the run's traces."""
    if os.path.exists(f"{log}/cwnd.csv"):
        os.rename(f"{log}/cwnd.csv", trace)
