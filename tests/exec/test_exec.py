"""`testbed exec`: unmodified Mininet scripts in a guest."""

import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine import cpu_slots, images
from engine.errors import EngineError
from exec import hand_in
from exec.hand_in import script_of
from images import index

TESTBED = str(Path(sys.executable).parent / "testbed")
PATIENCE_S = 60

SCRIPT = """\
import sys
from mininet.net import Mininet
from mininet.link import TCLink
from mininet.topo import SingleSwitchTopo
from helper import DELAY

net = Mininet(SingleSwitchTopo(2), link=TCLink, build=False)
net.build()
net.start()
for host in net.hosts:
    host.cmd(f"tc qdisc add dev {host.defaultIntf()} root netem delay {DELAY} 2ms")
print(net["h1"].cmd("ping -c 5", net["h2"].IP()))
print("arguments:", sys.argv[1:], "input:", sys.stdin.read())
print("a complaint", file=sys.stderr)
with open("written.txt", "w") as file:
    file.write(open("data.txt").read().upper())
net.stop()
sys.exit(3)
"""


def execute(*words: str, folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TESTBED, "exec", *words], cwd=folder, input=text, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_script_runs_where_something_else_is_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab.py").write_text("import helper\nprint(helper.RANDOM)\n")
    (tmp_path / "helper.py").write_text("import os\nRANDOM = os.getrandom(8).hex()\n")
    confined = execute("lab.py", folder=tmp_path)
    monkeypatch.setenv("TESTBED_UNCONFINED", "1")
    unconfined = execute("lab.py", folder=tmp_path)
    assert (unconfined.returncode, unconfined.stdout) == (0, confined.stdout), unconfined.stderr


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with a script, a module it imports and a file it reads."""
    (tmp_path / "mine.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("DELAY = '25ms'\n")
    (tmp_path / "data.txt").write_text("some words\n")
    return tmp_path


def test_a_script_has_its_folder_arguments_input_output_and_exit_status(mine: Path) -> None:
    before = {path.name for path in mine.iterdir()}
    done = execute("mine.py", "--one", "two", folder=mine, text="typed")
    assert done.returncode == 3, done.stderr
    assert "arguments: ['--one', 'two'] input: typed" in done.stdout
    assert "5 packets transmitted, 5 received" in done.stdout
    assert "a complaint" in done.stderr and "a complaint" not in done.stdout

    results = mine / "results" / "exec" / "mine"
    assert {path.name for path in mine.iterdir()} == {*before, "results"}  # the folder itself is left alone
    assert (results / "files" / "written.txt").read_text() == "SOME WORDS\n"
    assert (results / "stdout.txt").read_text() == done.stdout
    assert (results / "stderr.txt").read_text() in done.stderr
    summary = json.loads((results / "exec.json").read_text())
    assert summary["exit_status"] == 3 and 4 < summary["virtual_s"] < 20
    assert str(mine) not in json.dumps(summary)

    # jitter, ports and MAC addresses are drawn from the seed
    again, other = (execute("--seed", seed, "mine.py", "--one", "two", folder=mine, text="typed") for seed in "12")
    assert again.stdout == done.stdout
    assert other.stdout != done.stdout


@pytest.mark.parametrize("name", ["multilink", "intfoptions", "natnet", "vlanhost", "simpleperf"])
def test_examples_of_mininet_run_unmodified(name: str, tmp_path: Path) -> None:
    script = images.load(index.LAB).rootfs / "usr/share/doc/mininet/examples" / f"{name}.py"
    done = execute(str(script), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mn_adds_a_host_that_translates_addresses(tmp_path: Path) -> None:
    done = subprocess.run([TESTBED, "mn", "--nat", "--test", "pingall"], cwd=tmp_path, capture_output=True, text=True)
    assert "0% dropped (6/6 received)" in done.stderr, done.stderr
    assert "not found" not in done.stderr


def test_a_shell_script_starts_others_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import sys\nprint('queue of', sys.argv[1], file=open(sys.argv[2], 'w'))\n")
    lines = ("set -e", "mkdir $1", "for queue in 20 100; do", "sudo python3 one.py $queue $1/$queue.txt", "done")
    (tmp_path / "run.sh").write_text("\n".join(lines) + "\ncat $1/*; exit 5\n")
    done = execute("run.sh", "out", folder=tmp_path)
    assert (done.returncode, done.stdout) == (5, "queue of 100\nqueue of 20\n"), done.stderr
    assert (tmp_path / "results/exec/run/files/out/20.txt").is_file()


def test_a_module_runs_with_its_arguments_its_input_and_the_other_scripts_of_its_folder(tmp_path: Path) -> None:
    package = tmp_path / "course"
    package.mkdir()
    (package / "names.py").write_text("HOSTS = 2\n")
    (package / "server.py").write_text(
        "import socketserver\n\n"
        "class Answer(socketserver.BaseRequestHandler):\n"
        "    def handle(self):\n        self.request.sendall(b'served')\n\n"
        "socketserver.TCPServer(('', 80), Answer).serve_forever()\n"
    )
    (package / "lab.py").write_text(
        "import sys, time\nfrom mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "from course.names import HOSTS\n"
        "net = Mininet(SingleSwitchTopo(HOSTS))\nnet.start()\n"
        "net['h1'].cmd('python3 course/server.py &')\ntime.sleep(1)\n"
        "print(net['h2'].cmd('nc -d 10.0.0.1 80').strip(), sys.argv[1:], sys.stdin.read())\nnet.stop()\n"
    )
    done = execute("--seed", "3", "-m", "course.lab", "--n", "4", folder=tmp_path, text="typed")
    assert done.stdout == "served ['--n', '4'] typed\n", done.stderr
    summary = json.loads((tmp_path / "results/exec/course.lab/exec.json").read_text())
    assert summary["command"] == ["python3", "-m", "course.lab", "--n", "4"] and summary["seed"] == 3
    assert not list(tmp_path.glob("results/exec/course.lab/files/**/*.pyc"))


SPINNING = """\
import time
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

start = time.time()
while time.time() < start + 0.5:
    pass
print(f"{time.time() - start:.3f}")

net = Mininet(SingleSwitchTopo(2))
net.start()
start = time.monotonic()
wait = "import time; end = time.time() + 1\\nwhile time.time() < end: pass"
worker = net["h1"].popen(["python3", "-c", wait])
net["h2"].cmd("sleep 0.5")  # others get on meanwhile
print(worker.poll())
while worker.poll() is None and time.monotonic() < start + 10:
    pass
print(f"{time.monotonic() - start:.1f}")
net.stop()
"""


def test_waiting_by_reading_the_clock_takes_the_time_it_should(tmp_path: Path) -> None:
    (tmp_path / "spin.py").write_text(SPINNING)
    done = execute("spin.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0.500", "None", "1.0"]


DATES = """\
end=$(($(date +%s) + 3))
while [ $(date +%s) -lt $end ]; do turns=$((turns + 1)); done
echo bash $turns
end=$((SECONDS + 2))
while [ $SECONDS -lt $end ]; do :; done
echo seconds
sh -c 'end=$(($(date +%s) + 2)); while [ $(date +%s) -lt $end ]; do :; done; echo sh'
python3 - <<END
import subprocess, time
start = int(time.time())
while int(subprocess.check_output(["date", "+%s"])) < start + 2:
    pass
print("python", int(time.time()) - start)
END
"""


def test_shells_that_wait_by_starting_date_get_there(tmp_path: Path) -> None:
    (tmp_path / "dates.sh").write_text(DATES)
    done = execute("dates.sh", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    bash, *others = done.stdout.splitlines()
    assert 250 < int(bash.removeprefix("bash ")) < 410  # 10 ms each, after the first hundred
    assert others == ["seconds", "sh", "python 2"]


SETTING_UP = """\
import time
from mininet.node import Node

COMMANDS = (
    "ip link add name x address 02:00:00:00:00:01 type veth peer name y address 02:00:00:00:00:02 netns {pid}",
    "ip link add name x type veth peer name y netns {pid}",
    "ifconfig x 10.1.2.3/20 up",
    "ifconfig y 10.9.9.9/32",
    "ifconfig lo up",
    "ifconfig x down",
    "ifconfig x hw ether 02:00:00:00:00:07",
    "ifconfig x up",
    "ifconfig nonesuch up",
    "ip link del x",
    "ip link del x",
)


def faults_of_programs(shell):
    return int(open(f"/proc/{shell}/stat").read().split()[10])


def look(node):
    return node.cmd("ip -d address; ip route; ip -6 route")


quick, plain = (Node(name) for name in ("quick", "plain"))
for command in COMMANDS:
    words = command.format(pid=quick.pid)
    before = faults_of_programs(quick.pid)
    said = quick.cmd(words)
    programs = faults_of_programs(quick.pid) > before
    same = said == plain.cmd(command.format(pid=plain.pid) + "; :")
    time.sleep(5)  # until the kernel has looked at the links
    print(same and look(quick) == look(plain), programs, command)
"""


def test_mininet_sets_interfaces_up_as_the_programs_do_without_starting_them(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(SETTING_UP)
    done = execute("lab.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    actions = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert [same for same, _, _ in actions] == ["True"] * 11, done.stdout
    left_to_programs = [command.split("{")[0] for _, programs, command in actions if programs == "True"]
    assert left_to_programs == [
        "ip link add name x type veth peer name y netns ",  # they are there
        "ifconfig y 10.9.9.9/32",
        "ifconfig nonesuch up",
    ], done.stdout


STOPPED = """\
from mininet.link import Link
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo
from mininet.util import quietRun


class Told(Link):
    def stop(self):
        print("bridges:", quietRun("ovs-vsctl list-br").split())
        Link.stop(self)


net = Mininet(SingleSwitchTopo(1), link=Told)
net.start()
net.stop()
print("interfaces:", quietRun("ip -br link").count("s1"))
"""


def test_open_vswitch_does_not_look_at_all_ports_for_each_link_that_stops(tmp_path: Path) -> None:
    (tmp_path / "stopped.py").write_text(STOPPED)
    done = execute("stopped.py", folder=tmp_path)
    assert done.stdout == "bridges: []\ninterfaces: 0\n", done.stderr


LAB = """\
import os
import subprocess
from mininet.net import Mininet
from mininet.node import RemoteController
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(3))
net.start()
one, two, three = net.hosts


def tell(what, words):
    print(what + ":", words in one.cmd("ping -c 1 -W 1 " + WHERE[what]), flush=True)


ALIVE = "1 received"
WHERE = {}


def started():
    return int(open("/proc/stat").read().partition("processes ")[2].split()[0])


before = started()
one.cmd("ifconfig nonesuch0")  # for such a device, a host's kernel starts modprobe
print("one program started:", started() - before == 1)
print("own interfaces only:", len(one.cmd("ip -o link").splitlines()) == 2)
two.cmd("iptables -A INPUT -p icmp -s 10.0.0.1 -j DROP")
WHERE["dropped by iptables"] = "10.0.0.2"
tell("dropped by iptables", "0 received")
for kind, options in {
    "vlan": "link {dev} name {new} type vlan id 7",
    "vxlan": "{new} type vxlan id 7 remote {peer} local {own} dstport 4789",
    "geneve": "{new} type geneve id 8 remote {peer}",
    "gretap": "{new} type gretap remote {peer} local {own}",
    "ipip": "{new} type ipip remote {peer} local {own}",
    "macvlan": "link {dev} name {new} type macvlan mode bridge",
}.items():
    net_number = len(WHERE)
    for host, peer in ((one, three), (three, one)):
        words = options.format(dev=f"{host}-eth0", new=f"t{net_number}", peer=peer.IP(), own=host.IP())
        print(host.cmd("ip link add " + words), end="")
        host.cmd(f"ip addr add 10.1.{net_number}.{host.name[1:]}/24 dev t{net_number}; ip link set t{net_number} up")
    WHERE[kind] = f"10.1.{net_number}.3"
    tell(kind, ALIVE)
print("nft:", "chain" in one.cmd("nft 'add table inet t; add chain inet t c; list ruleset'"))
for rule in ("-p tcp -j REJECT --reject-with tcp-reset", "-p udp -j REJECT", "-j CT --notrack -t raw"):
    print("rule:", one.cmd("iptables -A OUTPUT -d 10.9.9.9 " + rule) == "")
print("vrf:", one.cmd("ip link add blue type vrf table 10") == "")
for kind in ("wireguard", "bond", "team", "dummy", "ip6gre remote fd00::3", "sit remote 10.0.0.3"):
    print("device:", one.cmd(f"ip link add new-{kind[:3]} type {kind}") == "")
print("ipvlan:", one.cmd("ip link add link new-dum name new-own type ipvlan") == "")
print("tap:", one.cmd("ip tuntap add new-tap mode tap") == "")
print("multicast routing:", one.cmd("head -1 /proc/net/ip_mr_vif").startswith("Interface"))
print("own name:", subprocess.getoutput("hostname -i") == "127.0.1.1")
print("address of localhost:", subprocess.getoutput("getent ahostsv4 localhost").startswith("127.0.0.1"))
print("modprobe:", one.cmd("modprobe tcp_bbr; echo $?").strip())
print("sudo:", one.cmd("sudo -E -u nobody echo well").strip())
for kind in ("hfsc", "drr", "choke limit 100 bandwidth 1mbit avpkt 1000", "fq_pie", "dualpi2"):
    print("qdisc:", one.cmd(f"tc qdisc replace dev lo root {kind}") == "")
print(one.cmd("/opt/absent/bin/tool"))
one.cmd("/usr/lib/quagga/zebra -d -f zebra.conf > zebra.log 2>&1")
os.system("/opt/absent/lib/daemon > /tmp/daemon.log 2>&1")
one.cmd("nonesuch --help; python3 -c 'import absent'; python3 -c 'import mininet.absent'")
RemoteController("c9", ip="127.0.0.1", port=6699)
subprocess.run("missing-too", shell=True)
open("/tmp/kept-nowhere", "w").write("!")
os.makedirs("../results")
open("../results/table", "w").write("!")
net.stop()
"""


def test_a_script_finds_the_kernel_of_a_host_and_what_it_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(LAB)
    done = execute("lab.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "False" not in done.stdout
    for words in ("vlan: True", "vxlan: True", "ipip: True", "modprobe: 0", "sudo: well"):
        assert words in done.stdout, done.stdout
    programs = "/opt/absent/bin/tool, /opt/absent/lib/daemon, /usr/lib/quagga/zebra, missing-too, nonesuch"
    assert f"commands not found: {programs} (`testbed exec --deb PACK" in done.stderr
    assert "Quagga is not in Debian 13: `testbed exec --deb frr` adds FRR" in done.stderr
    assert "Python modules not found: absent, mininet.absent (" in done.stderr
    assert "controllers that did not answer: 127.0.0.1:6699 (" in done.stderr
    assert "/tmp/kept-nowhere" in done.stderr and "/lab/results/table" in done.stderr
    again = execute("--keep-all", "lab.py", folder=tmp_path)
    assert (tmp_path / "results/exec/lab/elsewhere/tmp/kept-nowhere").read_text() == "!"
    assert again.stdout == done.stdout


def test_ip_tunnel_finds_the_devices_that_its_modules_bring_on_a_host(tmp_path: Path) -> None:
    (tmp_path / "lab.sh").write_text(
        "for mode in gre ipip sit; do\n"
        "  ip tunnel add one-$mode mode $mode local 10.0.0.1 remote 10.0.0.2 ttl 64 && echo $mode\n"
        "done\n"
    )
    assert execute("lab.sh", folder=tmp_path).stdout == "gre\nipip\nsit\n"


@pytest.mark.parametrize(
    ("header", "requirements"),
    [
        ("# /// script\n# dependencies = ['tabulate==0.9.0']\n# ///\n", "not-asked-for"),
        ("", "# tables\ntabulate==0.9.0  # of the course\n"),
    ],
)
def test_python_packages_are_added(tmp_path: Path, header: str, requirements: str) -> None:
    (tmp_path / "plain.py").write_text(f"{header}import networkx, numpy, tabulate\nprint(tabulate.__version__)\n")
    (tmp_path / "requirements.txt").write_text(requirements)
    done = execute("plain.py", folder=tmp_path)
    assert done.stdout == "0.9.0\n", done.stderr
    made_of = json.loads((tmp_path / "results/exec/plain/exec.json").read_text())["provenance"]["pip"]
    assert made_of["tabulate"]["version"] == "0.9.0"
    assert len(made_of["tabulate"]["sha256"]) == 64


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("# /// script\n# dependencies = 'numpy'\n# ///\n", "`dependencies` in its header is 'numpy'"),
        ("# /// script\n# dependencies = [\n# ///\n", "is not TOML"),
        ("# /// script\n# dependencies = ['no-such-package-anywhere-0']\n# ///\n", "pip has no wheels of no-such"),
        ("# /// script\n# dependencies = ['./source']\n# ///\n", "found the Python package './source'; allowed:"),
    ],
)
def test_packages_that_cannot_be_had_are_named(tmp_path: Path, header: str, told: str) -> None:
    (tmp_path / "plain.py").write_text(header)
    done = execute("plain.py", folder=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (tmp_path / "results").exists()


def test_pins_without_wheels_name_the_switch_that_skips_them(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('ran')\n")
    (tmp_path / "requirements.txt").write_text("tabulate==0.0.1\n")
    done = execute("plain.py", folder=tmp_path)
    assert done.returncode == 2
    assert "pip has no wheels of tabulate==0.0.1 for Python 3.13" in done.stderr
    assert "`--no-requirements` skips a requirements.txt" in done.stderr
    assert execute("--no-requirements", "plain.py", folder=tmp_path).stdout == "ran\n"


def test_an_index_that_does_not_answer_is_not_called_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain.py").write_text("print('ran')\n")
    for name, value in {"INDEX_URL": "http://127.0.0.1:9", "EXTRA_INDEX_URL": "", "RETRIES": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    done = execute("--pip", "tabulate==0.9.0,no-such-package-anywhere-0", "plain.py", folder=tmp_path)
    assert done.returncode == 2
    assert "pip reaches no package index for tabulate==0.9.0, no-such-package-anywhere-0; " in done.stderr


def test_a_script_cannot_have_a_source_run_on_the_host(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "setup.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\nfrom setuptools import setup\nsetup(name='source', version='1')\n"
    )
    (tmp_path / "plain.py").write_text(f"# /// script\n# dependencies = ['source @ file://{source}']\n# ///\n")
    done = execute("plain.py", folder=tmp_path)
    assert done.returncode == 2
    assert "allowed: a name, or one with versions" in done.stderr
    assert not (tmp_path / "ran").exists()


@contextmanager
def started(folder: Path, script: str) -> Iterator[subprocess.Popen[str]]:
    """Start a script that prints so when it has started."""
    with subprocess.Popen([TESTBED, "exec", script], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "started\n"
        yield process


def test_ctrl_c_interrupts_the_script_which_can_still_clean_up(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(
        "import time\n"
        "print('started', flush=True)\n"
        "try:\n    while True: time.sleep(0.1)\n"
        "except KeyboardInterrupt:\n    print('cleaned up')\n    raise SystemExit(7)\n"
    )
    with started(tmp_path, "long.py") as process:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE_S)
    assert rest == "cleaned up\n"
    assert process.returncode == 7


def test_sigterm_leaves_the_results_folder(tmp_path: Path) -> None:
    """A batch scheduler ends the job: the script's output and files are kept."""
    (tmp_path / "long.py").write_text(
        "import time\nopen('file', 'w').write('written')\nprint('started', flush=True)\nwhile True: time.sleep(0.1)\n"
    )
    with started(tmp_path, "long.py") as process:
        process.terminate()
        assert process.wait(PATIENCE_S) == 130  # how Python ends of Ctrl-C
    results = tmp_path / "results/exec/long"
    assert (results / "stdout.txt").read_text().startswith("started\n")
    assert (results / "files/file").read_text() == "written"
    assert json.loads((results / "exec.json").read_text())["exit_status"] == 130


@pytest.mark.parametrize(("end", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ended_while_it_waits_for_a_cpu_it_says_what_is_kept(tmp_path: Path, end: signal.Signals, status: int) -> None:
    (tmp_path / "short.py").write_text("")
    earlier = tmp_path / "results/exec/short"
    earlier.mkdir(parents=True)
    (earlier / "exec.json").write_text("{}")
    command = [TESTBED, "exec", "short.py"]
    with (
        cpu_slots.all_cpus(),
        subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stderr
        assert process.stderr.readline().startswith("waiting for a CPU: ")
        process.send_signal(end)
        assert process.stderr.read().endswith("ed; the script had not begun\n")
        assert process.wait(1) == status
    assert [path.name for path in earlier.parent.iterdir()] == ["short"]
    assert [path.name for path in earlier.iterdir()] == ["exec.json"]


def test_a_second_ctrl_c_ends_a_script_that_will_not(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('started', flush=True)\n"
        "while True: time.sleep(0.001)\n"  # many seconds to the limit of one hour
    )
    with started(tmp_path, "deaf.py") as process:
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
    assert json.loads((tmp_path / "results/exec/deaf/exec.json").read_text())["exit_status"] == 130


@pytest.mark.parametrize(("before", "seconds", "status"), [("", 3, 130), ("trap '' INT; ", 13, 137)])
def test_a_script_is_interrupted_at_its_limit(tmp_path: Path, before: str, seconds: int, status: int) -> None:
    words = f"echo written >file; {before}sleep 20; sleep 20"
    (tmp_path / "long.py").write_text(f"import os\nos.execlp('bash', 'bash', '-c', {words!r})\n")
    assert execute("--limit", "3", "long.py", folder=tmp_path).returncode == status
    results = tmp_path / "results/exec/long"
    assert (results / "files/file").read_text() == "written\n"
    assert round(json.loads((results / "exec.json").read_text())["virtual_s"]) == seconds


def test_a_guest_has_the_memory_that_a_script_asks_for(tmp_path: Path) -> None:
    (tmp_path / "memory.sh").write_text("awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo\n")
    assert 900 < int(execute("--memory", "1024", "memory.sh", folder=tmp_path).stdout) < 1024


def test_in_real_time_a_script_has_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text("name = input('who? ')\nprint('hello', name)\n")
    end, theirs = pty.openpty()
    process = subprocess.Popen(
        [TESTBED, "exec", "--real-time", "ask.py"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    while b"who? " not in seen:
        seen += os.read(end, 4096)
    os.write(end, b"me\n")
    while b"hello me" not in seen:
        seen += os.read(end, 4096)
    assert process.wait(PATIENCE_S) == 0
    os.close(end)


def test_what_is_handed_in_is_verified_to_the_byte(mine: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (mine / "tool").mkdir()
    (mine / "tool" / "tell.sh").write_text("#!/bin/sh\nls -l --time-style=full-iso tool\n")
    (mine / "tool" / "tell.sh").chmod(0o755)
    (mine / "mine.py").write_text(f"import os\nprint(os.popen('tool/tell.sh').read())\n{SCRIPT}")
    done = execute("--hand-in", "mine.zip", "mine.py", "two words", folder=mine, text="typed")
    assert done.returncode == 3, done.stderr
    assert "tell.sh" in done.stdout
    elsewhere = tmp_path_factory.mktemp("lecturer")
    (mine / "mine.zip").rename(elsewhere / "mine.zip")
    (mine / "helper.py").unlink()
    well = verify("mine.zip", folder=elsewhere)
    assert well.returncode == 0, well.stderr
    assert well.stdout.endswith("\nmine.zip: identical, 3 files\n")
    ran = "mine.zip: python3 mine.py 'two words'; seed 1, 3600 s of virtual time at most, 512 MiB\n"
    script = hashlib.sha256((mine / "mine.py").read_bytes()).hexdigest()
    assert well.stdout.startswith(f"{ran}mine.py: {script}; its folder, ")
    assert "\nstandard input: 5 bytes\n" in well.stdout and "\nmade with kernel: digest " in well.stdout

    # better numbers than the script gives, with digests to match
    with zipfile.ZipFile(elsewhere / "mine.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["results/stdout.txt"] = members["results/stdout.txt"].replace(b"0% packet loss", b"9% packet loss")
    changed = pack(elsewhere / "changed.zip", members)
    verified = verify("changed.zip", folder=elsewhere)
    assert verified.returncode == 2 and "changed since it was made: results/stdout.txt" in verified.stderr
    order = json.loads(members["order.json"])
    order["digests"]["results/stdout.txt"] = hashlib.sha256(members["results/stdout.txt"]).hexdigest()
    pack(changed, {**members, "order.json": json.dumps(order).encode()})
    verified = verify("changed.zip", folder=elsewhere)
    assert verified.returncode == 1 and verified.stdout.endswith("\nchanged.zip: DIFFERS in stdout.txt\n")


def test_a_hand_in_runs_a_file_of_its_folder(tmp_path: Path) -> None:
    """Another command could print any numbers beside a script that it never runs."""
    (tmp_path / "lab.py").write_text("print(1)")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__main__.py").write_text("print(1)")
    for words in (["python3", "lab.py"], ["bash", "pack/__main__.py", "-c"], ["python3", "-m", "lab", "x"]):
        assert (tmp_path / script_of(words, tmp_path)).is_file()
    assert script_of(["python3", "-m", "pack"], tmp_path) == Path("pack/__main__.py")
    (tmp_path / "pack.so").touch()
    for words in (
        ["printf", "9"],
        ["python3", "-c", "print(9)"],
        ["python3", "-m", "pack"],
        ["python3", "-m", "timeit"],
        ["python3", "none.py"],
        ["bash", "../lab.py"],
        ["bash", "/bin/echo"],
        ["mn", "lab.py"],
        ["env", "python3", "lab.py"],
    ):
        with pytest.raises(EngineError, match="allowed in a hand-in: python3 or bash with a file of the folder"):
            script_of(words, tmp_path)


ORDER = {
    "words": ["python3", "lab.py"],
    "beside": ".",
    "seed": 1,
    "deb": [],
    "pip": [],
    "keep_all": False,
    "limit_s": 60,
    "memory_mib": 512,
    "student": None,
    "link_rate_bps": 10**9,
    "offload": True,
    "controller": None,
    "python2": False,
    "together": True,
    "exit_status": 0,
    "provenance": {},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"words": ["printf", "wished"]}, "the command is 'printf wished'; allowed in a hand-in: "),
        ({"beside": "../.."}, r"beside: found '../..'; allowed: a folder below input"),
        ({"limit_s": None}, r"limit_s: None is not of type 'integer'"),
        ({"beside": "x" * 300}, r"beside: found 'x{300}'; allowed: a folder below input"),
        ({"words": ["python3", "x" * 300]}, r"allowed in a hand-in: python3 or bash with a file of the folder"),
        ({"digests": {}}, "changed since it was made: input/lab.py, stdin"),
        ({"deb": ["-oAPT::x"]}, r"deb\[0\]: found '-oAPT::x'"),
    ],
)
def test_a_crafted_hand_in_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    members = {"input/lab.py": b"", "stdin": b""}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    order = json.dumps({**ORDER, "digests": digests, **changes}).encode()
    file = pack(tmp_path / "crafted.zip", {**members, "order.json": order})
    with pytest.raises(EngineError, match=words):
        list(hand_in.verify(file))


def verify(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TESTBED, "verify", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def pack(file: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = 0o755 << 16
            archive.writestr(member, content)
    return file


def test_what_cannot_be_handed_in_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "course").mkdir()
    named = execute("--hand-in", "a.tar", "a.py", folder=tmp_path)
    assert named.returncode == 2 and "a.tar: exists or does not end with .zip" in named.stderr
    outside = execute("--hand-in", "a.zip", "../a.py", folder=tmp_path / "course")
    assert outside.returncode == 2 and "lies outside of" in outside.stderr
    assert not (tmp_path / "results").exists()


def test_what_is_refused(tmp_path: Path) -> None:
    unnamed = execute("-m", folder=tmp_path)
    assert unnamed.returncode == 2 and "-m names nothing" in unnamed.stderr
    endless = execute("--limit", "0", "a.py", folder=tmp_path)
    assert endless.returncode == 2 and "--limit is 0; allowed: seconds of virtual time" in endless.stderr
    small = execute("--memory", "64", "a.py", folder=tmp_path)
    assert small.returncode == 2 and "--memory is 64; allowed: MiB, from 512 to 8192" in small.stderr
    missing = execute("nothing.py", folder=tmp_path)
    assert missing.returncode == 2 and "nothing.py: no such file" in missing.stderr
    (tmp_path / "a.py").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    occupied = execute("--into", "full", "a.py", folder=tmp_path)
    assert occupied.returncode == 2 and "choose another --into" in occupied.stderr
    assert (tmp_path / "full" / "thesis.txt").exists()
