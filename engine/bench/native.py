"""What a transfer between two programs under test costs on the host's own kernel, in real time.

Two network namespaces below one user namespace: root is not needed, and nothing is left. The sender's end of a veth
pair has the bottleneck's rate and buffer. The other end delays by the round-trip time where the host has sch_netem;
where not, there is no delay.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from engine import images
from engine.errors import EngineError
from scenarios.resolve import Cell

LONGEST_S = 40
"""Longer transfers are measured for that long; their cost grows evenly from then on."""
_MORE_S = 60
"""An endpoint that heeds no SIGTERM is killed after so much more."""
_PORT = 5001
_LEAST = 0.5
"""Of the rate over the time; less is another transfer."""
_SCRIPT = r"""
set -e
ip link set lo up
unshare --net sleep infinity &
there=$!
sleep 0.2
inside="nsenter --target $there --net"
ip link add wire type veth peer name wire netns $there
ip address add 10.0.0.1/24 dev wire
ip link set wire up
tc qdisc add dev wire root handle 1: htb default 1
tc class add dev wire parent 1: classid 1:1 htb rate ${RATE}bit
tc qdisc add dev wire parent 1:1 pfifo limit $BUFFER
$inside ip link set lo up
$inside ip address add 10.0.0.2/24 dev wire
$inside ip link set wire up
$inside tc qdisc add dev wire root netem delay ${DELAY}us limit 10000 2>/dev/null || true
endpoint=/opt/implementation/endpoint
# in the foreground: the signal ends the endpoint alone, not also a client that it still has to ask
limit="timeout --foreground --signal TERM"
export LOGDIR=/run/logs/receiver
own="unshare --mount sh -c 'mount -t tmpfs tmpfs /tmp; exec \$0'"  # the hosts' clients keep the same names there
ROLE=receiver PEER=10.0.0.1 $inside $limit $((DURATION + 5)) sh -c "exec $own $endpoint" >&2 &
receiver=$!
sleep 1
export LOGDIR=/run/logs/sender
ROLE=sender PEER=10.0.0.2 $limit $DURATION sh -c "exec $own $endpoint" >&2 || true
wait $receiver || true
kill $there
wait $there || true
times
"""


def key(name: str, times: bool = False) -> str:
    """Name the figure of a cell: its CPU seconds, or how many times as many the guest takes."""
    return f"times_native_{name}" if times else f"cpu_s_{name}_native"


def figures(cells: Mapping[str, Cell], in_guest: Mapping[str, float]) -> dict[str, float]:
    """Return CPU seconds of each cell by `key(name)`, and the guest's divided by them by `key(name, True)`.

    What cannot be measured is told on standard error and left out.
    """
    measured = {}
    for name, cell in cells.items():
        try:
            measured[key(name)] = cpu_s(cell)
        except EngineError as error:
            print(f"not measured natively: {error}", file=sys.stderr)
        else:
            measured[key(name, True)] = in_guest[name] / measured[key(name)]
    return measured


def cpu_s(cell: Cell) -> float:
    """Return CPU seconds of both programs of the one flow of a cell, and of the host's kernel for them.

    Raises:
        EngineError: the host has no namespaces or queues for it, or less than half of the payload came.
    """
    (flow,), bottleneck = cell.settings["flows"], cell.settings["bottleneck"]
    program = images.program(flow["implementation"])
    seconds = min(int(cell.virtual_s), LONGEST_S)
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/tmp",  # noqa: S108  the program's own
        "LANG": "C.UTF-8",
        **program.environment,
        "PORT": str(_PORT),
        "SEED": "1",
        "PARAMS": json.dumps(flow["params"]),
        "ORIGIN_NS": str(time.time_ns()),
        "SAMPLE_NS": str(cell.settings["sample_ns"]),
        "DURATION": str(seconds),
        "RATE": str(bottleneck["rate_bps"]),
        "BUFFER": str(bottleneck["buffer_pkts"]),
        "DELAY": str(sum(cell.settings["delay"].values()) // 1000),
    }
    with tempfile.TemporaryDirectory(prefix="testbed-bench-") as name:
        logs = Path(name)
        for role in ("sender", "receiver"):
            (logs / role).mkdir()
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--uid", "0", "--gid", "0", "--cap-add", "ALL"]
        words += ["--ro-bind", str(program.root or images.load().rootfs), "/", "--proc", "/proc", "--dev", "/dev"]
        words += ["--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/opt", "--tmpfs", "/mnt"]  # noqa: S108
        words += ["--ro-bind", str(program.files), "/opt/implementation", "--bind", str(logs), "/run/logs"]
        words += ["sh", "-c", _SCRIPT]
        try:
            done = subprocess.run(
                words, env=environment, capture_output=True, text=True, timeout=seconds + _MORE_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise EngineError(f"{flow['implementation']}: did not end {_MORE_S} s after its {seconds} s") from error
        came = logs / "receiver" / "received_bytes"
        bytes_came = int(came.read_text()) if came.exists() else 0
    least = int(bottleneck["rate_bps"] / 8 * seconds * _LEAST)
    if bytes_came < least:
        [why] = done.stderr.splitlines()[-1:] or ["it wrote no reason"]
        raise EngineError(
            f"{flow['implementation']}: found {bytes_came} bytes after {seconds} s; allowed: at least {least}: {why}"
        )
    # `times` says what the shell took, and then what its children took: 0m1.23s 0m4.56s
    taken_s = sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", done.stdout)[2:])
    return taken_s * cell.virtual_s / seconds
