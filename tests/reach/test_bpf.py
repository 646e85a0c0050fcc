"""BPF programs on Debian's own kernel. LEDBAT++ as one sends, and decides as the module does on the same packets;
another gives a control group the module's LEDBAT++.

Most of the time goes into the packages of the compiler, and then into the emulator.
"""

import json
import shutil
import subprocess
from pathlib import Path

from engine import images
from images import module
from tests.reach import machine

PACKAGES = ("bpftool", "clang", "libbpf-dev")
COMPILE = "cd /build && clang -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -target bpf -mcpu=v3"
INCLUDE = "-D__TARGET_ARCH_x86 -I/usr/include/x86_64-linux-gnu"
GROUP = "/sys/fs/cgroup/background.slice"
COMMANDS = f"""\
insmod /opt/modules/tcp_ledbat.ko
ip link set lo up
mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir {GROUP}
bpftool prog load /bpf/cgroup.o /sys/fs/bpf/background
bpftool cgroup attach {GROUP} cgroup_sock_ops pinned /sys/fs/bpf/background
python3 -S /bpf/control_groups.py {GROUP}
bpftool struct_ops register /bpf/ledbatpp.o /sys/fs/bpf
bpftool prog loadall /bpf/shadow.o /sys/fs/bpf/shadow autoattach
python3 -S /bpf/two_controls.py
bpftool --json map dump name shadow.bss
"""

pytestmark = machine.ON_STOCK_KERNEL


def _compiled(root: Path, into: Path) -> None:
    """Compile the program and its shadow in this Debian; take its bpftool along, and the libraries that it needs."""
    build = root / "build"
    shutil.copytree(module.HERE / "bpf_ledbatpp", build)
    lines = [f"{COMPILE} {INCLUDE} -c {name}.bpf.c -o {name}.o" for name in ("ledbatpp", "shadow", "cgroup")]
    walls = ["bwrap", "--bind", str(root), "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all"]
    subprocess.run([*walls, "sh", "-euc", "\n".join(lines)], check=True)
    listed = subprocess.check_output([*walls, "ldd", "/usr/sbin/bpftool"], text=True)
    libraries = [word for word in listed.split() if word.startswith("/") and "libc.so" not in word]
    for file in ("/usr/sbin/bpftool", *libraries):
        place = into / file.strip("/").removeprefix("usr/")
        (into / "usr" / place.relative_to(into)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / file.strip("/"), into / "usr" / place.relative_to(into))
    (into / "bpf").mkdir()
    here = Path(__file__)
    for program in (*build.glob("*.o"), here.with_name("control_groups.py"), here.with_name("two_controls.py")):
        shutil.copy(program, into / "bpf")


def test_programs_on_the_stock_kernel(tmp_path: Path) -> None:
    root, added = tmp_path / "root", tmp_path / "added"
    added.mkdir()
    machine.debian(PACKAGES, root)
    _compiled(root, added)
    (added / "boot").mkdir()
    kernel = images.stock()["kernel"]
    # libbpf asks it for the clock's ticks in a second
    shutil.copy(kernel["path"].with_name(f"config-{kernel['release']}"), added / "boot")
    said = machine.printed(added, COMMANDS, 7200)
    controls, flows, counts = (json.loads(line) for line in said.splitlines() if line.startswith(("{", "[")))
    assert controls == {"outside": ["cubic", "cubic"], "inside": ["ledbatpp", "ledbatpp"]}
    decided = counts[0]["formatted"]["value"][".bss"][0]["counts"]
    assert decided["acks"] > 1000
    assert decided["losses"] > 0
    assert decided["slowdowns"] > 0
    assert decided["other_acks"] == decided["other_losses"] == 0
    # on its own it fills the link and leaves the queue below its target, as the module does
    for control in ("ledbatpp", "bpf_ledbatpp"):
        assert flows[control]["delivered_bps"] > 0.7 * flows["rate_bps"]
        assert flows[control]["largest_rtt_us"] < flows["base_rtt_us"] + 100_000
