"""Runs a user's Mininet script in the guest, as on a host with Mininet installed, and records how it ended.

The script sees its working folder at /lab/work and its own folder at /lab/script. Both are the user's, read-only, under
an overlay in memory. Files that the script leaves in /lab/work are copied to /results/files.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from mininet import links

from engine.guest import not_found
from engine.guest.clock import now_ns
from topologies.network import start_switch_daemons

_RESULTS = "/results"
_LAB = "/lab"  # so that `..` of the working folder is nobody's
_LAYERS = "/run/testbed"  # in memory: an overlay cannot lie on the root's overlay
_PYTHON = "/usr/local/lib/python3.13/dist-packages"
_MISSING = f"{_LAYERS}/missing"
_NAME, _ADDRESS = "lab", "127.0.1.1"
_OF_ROOT = {"HOME": "/root", "USER": "root", "LOGNAME": "root"}  # as sudo sets them
_OF_TRACING = {"debugfs": "/sys/kernel/debug", "tracefs": "/sys/kernel/tracing"}
_DATE, _REAL_DATE = "/usr/bin/date", "/usr/lib/testbed/date"
_FRR_MANAGER = "/usr/lib/frr/mgmtd"
_USERS = (f"{_LAB}/work", f"{_LAB}/script")
_MOST_TOLD = 100
_LARGEST_READ_BYTES = 1 << 20
_GRACE_S = 10
_MANY_PKTS = 10_000  # of an interface in a loop of switches
_CONTROLLER_PORTS = (6653, 6633)
_CONTROLLER_STARTS_NS = 30_000_000_000
_NOBODY_ASKED = re.compile(r"/\.|/tmp/c\d+\.log$")  # caches, and what Mininet writes for each controller
_ELSEWHERE = (_LAB, "/tmp", "/home", "/root", "/srv", "/var/tmp", "/var/log")  # noqa: S108 - where scripts leave files
# of bash; what it prints is as without this function
_NOT_FOUND = f"""() {{ echo "command $1" >>{_MISSING}; echo "bash: $1: command not found" >&2; return 127; }}"""


def main() -> None:
    """Carry out /results/order.json; write the outcome to /results/guest.json."""
    with open(f"{_RESULTS}/order.json") as file:
        order = json.load(file)
    _stand_apart()
    _show_folders()
    _let_date_wait()
    _be_a_host()
    os.environ.update(_OF_ROOT)
    _order_links(order)
    start_switch_daemons()
    _start_frr_manager()
    started_ns, since_s = now_ns(), time.time()
    controller = _started_controller(order["controller"]) if order["controller"] else None
    ended = controller.poll() if controller else None
    listens = any(map(_listens, _CONTROLLER_PORTS))
    exit_status, storm = _exit_status(order, started_ns)
    outcome: dict[str, Any] = {"exit_status": exit_status, "virtual_ns": now_ns() - started_ns, "storm": storm}
    if controller:
        _end(controller)
    outcome["missing"] = _missing(since_s)
    outcome |= {"controller_exit": ended, "controller_listens": listens}
    outcome["rated"] = links.rated()
    _keep_files()
    if order["keep_all"]:
        _keep_elsewhere(since_s)
    else:
        outcome["elsewhere"] = [path for _, path in zip(range(_MOST_TOLD), _elsewhere(since_s), strict=False)]
    with open(f"{_RESULTS}/guest.json", "w") as file:
        json.dump(outcome, file)


def _stand_apart() -> None:
    """Become the first process of a process namespace, which no `pkill -f python3` and no `kill -9 -1` in it ends.

    The process before waits, and ends as this one does.
    """
    os.unshare(os.CLONE_NEWPID)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)


def _order_links(order: dict[str, Any]) -> None:
    """Leave word for Mininet: see links.py of the lab's root. And let a script for Python 2 find that name."""
    os.makedirs(_LAYERS, exist_ok=True)
    with open(links.ORDER, "w") as file:
        json.dump({"rate_bps": order["link_rate_bps"], "offload": order["offload"]}, file)
    if order["python2"]:
        for name in ("python2", "python2.7"):
            os.symlink("python3", f"/usr/bin/{name}")


def _started_controller(command: str) -> subprocess.Popen[bytes]:
    """Start a controller beside the script, and wait until it listens; it writes to controller.txt."""
    with open(f"{_LAB}/work/controller.txt", "wb") as output:
        controller = subprocess.Popen(
            ["bash", "-c", command],
            cwd=f"{_LAB}/work",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    end_ns = now_ns() + _CONTROLLER_STARTS_NS
    while now_ns() < end_ns and controller.poll() is None and not any(map(_listens, _CONTROLLER_PORTS)):
        time.sleep(0.1)
    return controller


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
            return


def _in_loops() -> dict[str, Any] | None:
    """The loops of switches that Mininet noted and the packets of their busiest interface, if these are many."""
    if not os.path.exists(links.LOOPS):
        return None
    with open(links.LOOPS) as file:
        noted = json.load(file)
    pkts, busiest = max((_counted(name, "tx_packets"), name) for name in noted["inner"])
    from_hosts_pkts = sum(_counted(name, "rx_packets") for name in noted["edge"])
    storm = {"loops": noted["loops"], "interface": busiest, "pkts": pkts, "from_hosts_pkts": from_hosts_pkts}
    return storm if pkts >= _MANY_PKTS else None


def _counted(interface: str, what: str) -> int:
    try:
        with open(f"/sys/class/net/{interface}/statistics/{what}") as file:
            return int(file.read())
    except OSError:  # gone meanwhile
        return 0


def _show_folders() -> None:
    """Put what init.c has mounted below /opt where a script looks for it."""
    if os.path.exists("/opt/python"):
        os.makedirs(_PYTHON, exist_ok=True)
        subprocess.run(["mount", "--bind", "/opt/python", _PYTHON], check=True)
    lists = f"/lib/modules/{os.uname().release}"
    shutil.copytree("/opt/module-lists", lists)
    shutil.copytree("/opt/modules", f"{lists}/extra")
    subprocess.run(["depmod"], check=True)  # modprobe then succeeds for what is built in, too
    # there is nothing to load: without a program to do it, the kernel starts none for each device that has gone
    with open("/proc/sys/kernel/modprobe", "w") as file:
        file.write("\n")
    for name in ("work", "script"):
        base = f"{_LAYERS}/{name}"
        for folder in (f"{_LAB}/{name}", f"{base}/upper", f"{base}/scratch"):
            os.makedirs(folder, exist_ok=True)
        layers = f"lowerdir=/opt/{name},upperdir={base}/upper,workdir={base}/scratch"
        subprocess.run(["mount", "-t", "overlay", "-o", layers, "overlay", f"{_LAB}/{name}"], check=True)


def _be_a_host() -> None:
    """Have a name with an address, as a Debian host has. Without one beside 127.0.0.1, getaddrinfo() may find none."""
    with open("/proc/sys/kernel/hostname", "w") as file:
        file.write(_NAME)
    with open("/etc/hosts", "a") as file:
        file.write(f"{_ADDRESS}\t{_NAME}\n")
    with open("/etc/resolv.conf", "w") as file:  # `mn --nat` reads it
        file.write("# no server: there is no network except Mininet's\n")
    for words in ("link set lo up", f"address add {_ADDRESS}/8 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    for kind, place in _OF_TRACING.items():
        subprocess.run(["mount", "-t", kind, kind, place], check=True)


def _let_date_wait() -> None:
    """Put the program that shells can wait by in the place of `date`; see lab_date.c."""
    os.makedirs(os.path.dirname(_REAL_DATE), exist_ok=True)
    shutil.move(_DATE, _REAL_DATE)
    os.symlink("/opt/tools/lab_date", _DATE)


def _start_frr_manager() -> None:
    """Start what FRR's daemons look for 100 times a second while it is not there; Debian's service starts it, too."""
    if os.path.exists(_FRR_MANAGER):
        subprocess.run(["install", "-d", "-o", "frr", "-g", "frr", "/run/frr"], check=True)
        subprocess.run([_FRR_MANAGER, "--daemon"], check=True)


def _exit_status(order: dict[str, Any], started_ns: int) -> tuple[int, dict[str, Any] | None]:
    """Run the script to its end, with a sign of life each second; return its exit status as a shell reports it.

    Also return what was last seen of loops of switches. At its limit it is interrupted like at a terminal, and killed
    if it goes on.
    """
    limit_s = order["limit_s"]
    ends = [(limit_s, signal.SIGINT), (limit_s + _GRACE_S, signal.SIGKILL)] if limit_s else []
    ended = {signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, ended)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ended)
        _become(order)
    storm = None
    with open(f"{_RESULTS}/heartbeat", "w") as heartbeat:
        while True:
            signal.sigtimedwait(ended, 1)
            while (waited := os.waitpid(-1, os.WNOHANG))[0]:  # orphans too: this is the first process
                if waited[0] == child:
                    code = os.waitstatus_to_exitcode(waited[1])
                    return code if code >= 0 else 128 - code, storm
            passed_ns = now_ns() - started_ns
            if ends and passed_ns >= ends[0][0] * 1_000_000_000:
                os.killpg(child, ends.pop(0)[1])
            heartbeat.seek(0)
            heartbeat.write(str(passed_ns))
            heartbeat.flush()
            if seen := _in_loops():
                if not storm:
                    print(f"storm: {json.dumps(seen)}", flush=True)  # on the console, in case the guest is ended
                storm = seen


def _become(order: dict[str, Any]) -> None:
    """Become the script, at a terminal of its own, where Ctrl-C interrupts it. Does not return."""
    os.setsid()
    # the first terminal a session leader opens becomes its controlling terminal
    output = os.open(order["stdout"], os.O_RDWR)
    if not order["interactive"]:
        _plain(output)
        errors = os.open(order["stderr"], os.O_RDWR)
        _plain(errors)
        os.dup2(os.open(order["stdin"], os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(errors, 2)
    else:
        for descriptor in (0, 1, 2):
            os.dup2(output, descriptor)
    os.closerange(3, 64)
    os.chdir(f"{_LAB}/work")
    # nobody looks at this terminal itself
    environment = {**os.environ, "NO_COLOR": "1", "BASH_FUNC_command_not_found_handle%%": _NOT_FOUND}
    os.execvpe(order["words"][0], order["words"], environment)  # noqa: S606


def _plain(terminal: int) -> None:
    """Make the terminal pass output through unchanged and not echo input."""
    settings: list[Any] = termios.tcgetattr(terminal)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~(termios.ECHO | termios.ECHOCTL)
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


def _keep_files() -> None:
    # leave out links, which would point elsewhere on the host, the overlay's marks of removed files, and what Python
    # compiled
    def left_out(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if name == "__pycache__" or not _is_content(os.path.join(folder, name))}

    shutil.copytree(f"{_LAYERS}/work/upper", f"{_RESULTS}/files", ignore=left_out)


def _missing(since_s: float) -> list[str]:
    """What commands and modules the script and its children did not find, each once.

    A shell tells nobody of a program that is not at its path; what it says may stand in a file.
    """
    missed: set[str] = set()
    if os.path.exists(_MISSING):
        with open(_MISSING) as notes:
            missed.update(notes.read().splitlines())
    left = (file for top in (f"{_LAYERS}/work/upper", *_ELSEWHERE) for file in _written(top, since_s))
    for path in left:
        if os.stat(path).st_size <= _LARGEST_READ_BYTES:
            with open(path, errors="replace") as file:
                missed.update(not_found.commands(file.read()))
    return sorted(missed)


def _elsewhere(since_s: float) -> Iterator[str]:
    """Files that the script wrote outside its working folder, without those that nobody asked for."""
    written = (path for top in _ELSEWHERE for path in _written(top, since_s))
    yield from (path for path in written if not _NOBODY_ASKED.search(path))


def _written(top: str, since_s: float) -> Iterator[str]:
    """Files that the script wrote below a folder, except in its own folders."""
    until_s = time.time()  # files of the image are of a later date: guests live in 2001
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if f"{folder}/{name}" not in _USERS]
        paths = (os.path.join(folder, name) for name in sorted(names))
        yield from (path for path in paths if _is_content(path) and since_s <= os.stat(path).st_mtime <= until_s)


def _keep_elsewhere(since_s: float) -> None:
    for path in _elsewhere(since_s):
        copy = f"{_RESULTS}/elsewhere{path}"
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(path, copy)


def _is_content(path: str) -> bool:
    return not os.path.islink(path) and (os.path.isdir(path) or os.path.isfile(path))


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
