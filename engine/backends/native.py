"""Runs on the host's own kernel, in real time.

The agent runs in the guest's root file system, in its own network and process namespaces. So the host's network stays
untouched and its packages do not matter. Nothing is left however a run ends: the kernel removes the namespaces, with
all links, queues and switches, once their processes are gone. Root is root here, so no foreign program is let in.
"""

import os
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from common.commit import commit
from engine import backends, images, provenance, watch
from engine.backends import AGENT
from engine.errors import EngineError
from engine.images import Images
from engine.recorder import Recording
from engine.sandbox import Limits
from topologies.timeline import SECOND_NS

_BUILD_NS = 10 * SECOND_NS  # between the start of a run and the fidelity probe; the network is built meanwhile
_SIGN_NS = 10 * SECOND_NS  # far less than the silence after which the watch ends a run
_TOLERANCE_NS = 1_000_000
"""Whatever handles a packet may be kept waiting; a delay-based sender would see a packet at 10 Mbit/s (1.2 ms)."""
_NO_IPV6 = "net/ipv6/conf/all/disable_ipv6"  # whose own messages would be captured; other backends boot without it
_TRIAL = "engine.guest.kernel_trial"
_OWN = ("dev", "proc", "sys", "run", "tmp", "opt")  # not from the root file system
_NEEDED = {"bwrap": "bubblewrap", "unshare": "util-linux", "setpriv": "util-linux", "modprobe": "kmod"}


@dataclass(frozen=True)
class NativeGuest:
    """See `engine.backends.Guest`."""

    alone: ClassVar[bool] = True
    memory_mib: ClassVar[int] = 0  # its kernel is there already
    images: Images
    modules: list[str]

    @property
    def provenance(self) -> dict[str, Any]:
        """The host's kernel, the loaded modules under test, and the images used."""
        return {
            "commit": commit(),
            "code": provenance.code("native"),
            "kernel": {"release": platform.release(), "version": platform.version()},
            "modules": {name: _srcversion(name) for name in self.modules},
            **{name: self.images.provenance[name] for name in ("rootfs", "tools")},
            "host": {"machine": platform.machine(), "python": platform.python_version()},
        }

    def origin_ns(self, probe_ns: int) -> int:
        """See `engine.backends.Guest`."""
        return time.time_ns() + _BUILD_NS + probe_ns

    def execute(self, folder: Path, cpu: int, limits: Limits, recording: Recording) -> int:  # noqa: ARG002  one CPU would delay packets
        """See `engine.backends.Guest`."""
        return watch.run(_command(self.images, AGENT, folder), folder, limits)


def prepare(run: dict[str, Any]) -> NativeGuest:
    """Prepare a run. Raises EngineError if the host lacks a part, or the run needs what must not run on it."""
    if os.geteuid():
        raise EngineError("the native backend makes links and queues in this host's kernel: start it as root")
    for program, package in _NEEDED.items():
        if shutil.which(program) is None:
            raise EngineError(
                f"{program} is not installed: sudo apt-get install --yes --no-install-recommends {package}"
            )
    foreign = [name for name, entry in run["implementations"].items() if entry["kind"] == "program"]
    if foreign:
        raise EngineError(f"{', '.join(foreign)}: programs under test run on the virtual backend only")
    boot = images.load()
    modules = backends.modules(run)
    for module in modules:
        _load(module)
    _check_kernel(boot, run)
    run["agent"] = backends.agent(run, _TOLERANCE_NS) | {
        "modules": [],
        "kernel_sysctls": {},
        "namespace_sysctls": {_NO_IPV6: "1"} if Path("/proc/sys", _NO_IPV6).exists() else {},
        "train_tolerance_ns": _TOLERANCE_NS,
        "sign_every_ns": _SIGN_NS,
    }
    return NativeGuest(boot, modules)


def _load(module: str) -> None:
    done = subprocess.run(["modprobe", module], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(
            f"this kernel ({platform.release()}) has no module {module}: `dkms install images/{module}` builds it "
            "(docs/explanation/backends.md)"
        )


def _check_kernel(boot: Images, run: dict[str, Any]) -> None:
    """Try every part of the kernel that the run needs, in namespaces that are thrown away."""
    switches = any(node["kind"] == "switch" for node in run["network"]["nodes"].values())
    controls = [entry["congestion_control"] for entry in run["implementations"].values()]
    parts = ["switches" if switches else "no", *controls]
    done = subprocess.run(_command(boot, _TRIAL, None, parts), capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"this kernel ({platform.release()}) lacks what the run needs: {done.stderr.strip()}")


def _command(boot: Images, program: str, folder: Path | None, words: list[str] | None = None) -> list[str]:
    """Return the command that runs a module as root in its own namespaces, which end with this process."""
    outside = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--ipc", "--uts"]
    outside += ["--fork", "--kill-child=KILL", "--mount-proc", "bwrap", "--cap-add", "ALL", "--clearenv"]
    for entry in sorted(boot.rootfs.iterdir()):
        if entry.is_symlink():
            outside += ["--symlink", str(entry.readlink()), f"/{entry.name}"]
        elif entry.name not in _OWN:
            outside += ["--ro-bind", str(entry), f"/{entry.name}"]
    # the proc file system of the namespace, with writable sysctls
    outside += ["--bind", "/proc", "/proc", "--bind", "/sys", "/sys", "--dev-bind", "/dev", "/dev"]
    for place in ("/run", "/tmp", "/var/log", "/etc/openvswitch"):  # noqa: S108  the run's own
        outside += ["--tmpfs", place]
    outside += ["--ro-bind", str(boot.tools), "/opt/tools"]
    code = images.guest_code(boot.rootfs, boot.provenance["rootfs"]["digest"])
    outside += ["--ro-bind", str(code), "/opt/testbed"]
    if folder:
        outside += ["--bind", str(folder), "/results"]
    return [*outside, "/opt/testbed/engine/guest/start.py", program, *(words or [])]


def _srcversion(module: str) -> str:
    """Return what identifies a loaded module's source, as modinfo shows it."""
    try:
        return Path(f"/sys/module/{module}/srcversion").read_text().strip()
    except FileNotFoundError:
        return "unknown"
