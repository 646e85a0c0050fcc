"""`testbed exec`: what other people's scripts need and do."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from engine.errors import EngineError
from exec import hints, missing, packages
from tests.exec.test_exec import execute

IPERF = """\
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2))
net.start()
net.iperf()
print(net["h1"].cmd("tc qdisc add dev h1-eth0 root netem delay 20ms; ping -c 3 10.0.0.2"))
print(net["h1"].cmd("tc qdisc del dev h1-eth0 root; ping -c 3 10.0.0.2"))
again = "tc qdisc add dev h1-eth0 root handle 1: netem delay 30ms"
print(net["h1"].cmd(f"{again}; tc qdisc add dev h1-eth0 parent 1: pfifo limit 9; ping -c 3 10.0.0.2; {again}"))
net.stop()
"""


@pytest.mark.parametrize(("options", "rate"), [((), "956 Mbits/sec"), (("--link-rate", "10mbit"), "9.")])
def test_iperf_over_links_without_a_rate_ends(options: tuple[str, ...], rate: str, tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(IPERF)
    done = execute(*options, "lab.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"*** Results: ['{rate}" in done.stderr
    first, second, third = map(float, re.findall(r"rtt min/avg/max/mdev = [\d.]+/([\d.]+)", done.stdout))
    assert 20 <= first < 22 and second < 1 and 30 <= third < 32
    assert done.stdout.count("Error") == 1  # there is one already
    assert ("no rate have 1 Gbit/s (`--link-rate" in done.stderr) == (not options)


UNRATED = """\
import sys

from mininet.link import Link, TCLink
from mininet.net import Mininet

net = Mininet(controller=None, link=TCLink if sys.argv[1] == "tc" else Link)
a, b = net.addHost("a"), net.addHost("b")
net.addLink(a, b, bw=float(sys.argv[2]))
net.start()
b.cmd("iperf3 -s -D; sleep 1")
print(a.cmd("iperf3 -c", b.IP(), "-t 2 | grep receiver"))
net.stop()
"""


@pytest.mark.parametrize(("link", "bw", "mbps"), [("plain", "10", 956), ("tc", "100000", 956), ("tc", "10", 9.5)])
def test_a_bw_that_mininet_ignores_gives_no_rate(link: str, bw: str, mbps: float, tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(UNRATED)
    done = execute("lab.py", link, bw, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [told] = re.findall(r"([\d.]+) Mbits/sec +receiver", done.stdout)
    assert float(told) == pytest.approx(mbps, rel=0.03)
    assert ("no rate have 1 Gbit/s (`--link-rate" in done.stderr) == (mbps == 956)


@pytest.mark.parametrize(("words", "mbps"), [("-n 1M", 8.4), ("-k 20", 9.3), ("-R -n 1M", 8.4)])
def test_iperf3_ends_when_all_of_a_size_is_sent(words: str, mbps: float, tmp_path: Path) -> None:
    """It looks once a second whether all is sent, and its thread computes until then."""
    (tmp_path / "lab.py").write_text(UNRATED.replace("-t 2", words))
    done = execute("lab.py", "tc", "10", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [told] = re.findall(r"([\d.]+) Mbits/sec +receiver", done.stdout)
    assert float(told) == pytest.approx(mbps, rel=0.05)


LOST = """\
import sys

from mininet.link import TCLink
from mininet.net import Mininet

net = Mininet(controller=None, link=TCLink)
a, b = net.addHost("a"), net.addHost("b")
net.addLink(a, b, bw=10)
net.start()
b.cmd("iperf3 -s -D; sleep 1")
for host in (a, b):
    for words in sys.argv[1:]:
        print(host.cmd(f"tc qdisc {words.replace('DEV', host.intf().name)}"))
print(a.cmd("iperf3 -c", b.IP(), "-t 2 | grep receiver"))
net.stop()
"""


@pytest.mark.parametrize(
    ("words", "mbps"),
    [
        (("del dev DEV root",), 956),
        (("del dev DEV root", "add dev DEV root netem delay 1ms"), 956),
        (("del dev DEV root", "add dev DEV root tbf rate 20mbit burst 15k latency 50ms"), 19.1),
    ],
)
def test_a_link_whose_script_deletes_its_rate_has_that_of_links_without(
    words: tuple[str, ...], mbps: float, tmp_path: Path
) -> None:
    (tmp_path / "lab.py").write_text(LOST)
    done = execute("lab.py", *words, folder=tmp_path)
    assert done.returncode == 0 and "Error" not in done.stdout, done.stderr
    [told] = re.findall(r"([\d.]+) Mbits/sec +receiver", done.stdout)
    assert float(told) == pytest.approx(mbps, rel=0.05)
    assert ("no rate have 1 Gbit/s (`--link-rate" in done.stderr) == (mbps == 956)


def test_a_script_finds_the_folder_of_the_user_that_it_runs_as(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text("import getpass, os\nprint(os.path.expanduser('~'), getpass.getuser())\n")
    assert execute("lab.py", folder=tmp_path).stdout == "/root root\n"


DEEP = """\
from mininet.link import TCLink
from mininet.net import Mininet

net = Mininet(controller=None, link=TCLink)
a, b = net.addHost("a"), net.addHost("b")
net.addLink(a, b, bw=100, delay="12.5ms", max_queue_size=7000)
net.start()
b.cmd("iperf3 -s -D; sleep 1")
print(a.cmd("iperf3 -c", b.IP(), "-t 10 -w 16M | grep receiver"))
net.stop()
"""


def test_memory_of_tcp_is_enough_for_a_deep_queue(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(DEEP)
    done = execute("lab.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [told] = re.findall(r"([\d.]+) Mbits/sec +receiver", done.stdout)
    assert float(told) > 85


@pytest.mark.parametrize("rate", ["1", "-1mbit", "1kbit", "1000gbit"])
def test_a_rate_that_no_link_has_is_refused(rate: str, tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text("")
    done = execute(f"--link-rate={rate}", "lab.py", folder=tmp_path)
    assert done.returncode == 2 and "--link-rate: found" in done.stderr and "allowed: " in done.stderr


WINDOWS = """\
import os

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

os.system("rmmod tcp_probe; modprobe tcp_probe full=1 port=5001")
net = Mininet(SingleSwitchTopo(2, lopts=dict(bw=10, delay="5ms", max_queue_size=20)), link=TCLink)
net.start()
os.system("cat /proc/net/tcpprobe >windows.txt &")
os.system("echo 1 >/sys/kernel/debug/tracing/events/tcp/tcp_probe/enable")
net["h2"].cmd("iperf -s &")
net["h1"].cmd("iperf -c 10.0.0.2 -t 2")
os.system("killall -9 cat; rmmod tcp_probe; grep -c snd_cwnd= /sys/kernel/tracing/trace")
net.stop()
os.system("modprobe tcp_ledbat && cat /proc/sys/net/ipv4/tcp_available_congestion_control")
"""


def test_windows_are_read_as_in_old_and_new_kernels(tmp_path: Path) -> None:
    """By /proc/net/tcpprobe, which Linux dropped in 4.16, and by the event that took its place."""
    (tmp_path / "lab.py").write_text(WINDOWS)
    done = execute("--into", "out", "lab.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ") for line in (tmp_path / "out/files/windows.txt").read_text().splitlines()]
    assert {len(line) for line in lines} == {10}
    sent = [line for line in lines if line[2] == "10.0.0.2:5001"]
    assert {line[1].rpartition(":")[0] for line in sent} == {"10.0.0.1"}
    assert 0 < float(sent[0][0]) < 0.2 < 2 < float(sent[-1][0])
    windows = [int(line[6]) for line in sent]
    assert windows[0] == 10 and max(windows) > 20
    traced, controls = done.stdout.splitlines()[-2:]
    assert int(traced) > 100 and "ledbat" in controls.split()


def test_a_package_that_another_one_must_precede_is_added(tmp_path: Path) -> None:
    """cron-daemon-common has to be configured before cron is unpacked; frr depends on both."""
    (tmp_path / "lab.sh").write_text("dpkg-query --show cron cron-daemon-common && test -x /usr/sbin/cron\n")
    done = execute("--deb", "cron", "lab.sh", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert "installing Debian" not in done.stderr  # they go on top of a copy of the root, which is not built again


BUFFERBLOAT = """\
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import OVSBridge

net = Mininet(link=TCLink, controller=None)
h1, h2, s0 = net.addHost("h1"), net.addHost("h2"), net.addSwitch("s0", cls=OVSBridge)
net.addLink(h1, s0, bw=1000, delay="5ms")
net.addLink(s0, h2, bw=1.5, delay="5ms", max_queue_size=100)
net.start()
h1.cmd("sysctl -w net.ipv4.tcp_congestion_control=reno")
h2.cmd("iperf -s &")
h1.cmd("iperf -c", h2.IP(), "-t 60 &")
print(h1.cmd("sleep 20; ping -c 300 -i 0.1", h2.IP()))
net.stop()
"""


def test_without_offload_a_queue_of_a_hundred_packets_holds_a_hundred(tmp_path: Path) -> None:
    """With it, a super-packet of many segments counts as one, and the queue holds seconds."""
    (tmp_path / "lab.py").write_text(BUFFERBLOAT)
    longest_ms = {}
    for options in ((), ("--no-offload",)):
        done = execute(*options, "lab.py", folder=tmp_path)
        (longest_ms[options],) = (float(ms) for ms in re.findall(r"mdev = [\d.]+/[\d.]+/([\d.]+)/", done.stdout))
    full_ms = 101 * 1514 * 8 / 1.5e6 * 1e3
    assert longest_ms[()] > 1.2 * full_ms
    assert 0.8 * full_ms < longest_ms["--no-offload",] < full_ms + 25


def test_a_script_that_kills_all_of_python_ends_by_that_signal(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text("import os\nopen('kept', 'w').write('!')\nos.system('pkill -f python3')\n")
    done = execute("lab.py", folder=tmp_path)
    assert done.returncode == 143, done.stderr
    assert (tmp_path / "results/exec/lab/files/kept").read_text() == "!"


def test_a_script_that_never_ends_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text("import pandas, time\nwhile True: time.sleep(10)\n")
    done = execute("lab.py", folder=tmp_path)
    assert done.returncode == 130
    assert "interrupted after 3600 s of virtual time (`--limit SECONDS` sets another)" in done.stderr


def test_lines_for_the_command_line_take_virtual_time(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(
        "from mininet.cli import CLI\nfrom mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(SingleSwitchTopo(2))\nnet.start()\nCLI(net)\nprint('between')\nCLI(net)\nnet.stop()\n"
    )
    (tmp_path / "lines").write_text("h1 ping -c 5 h2\nexit\npingall\n")
    done = execute("--cli", "lines", "lab.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"mininet> h1 ping.*5 received.*mininet> pingall.*0% dropped", done.stderr, re.DOTALL)
    first_ms = float(re.findall(r"icmp_seq=1 .*time=([\d.]+) ms", done.stderr)[0])
    assert first_ms < 100  # the switch has found its controller
    assert done.stdout == "between\n"
    assert 4 < json.loads((tmp_path / "results/exec/lab/exec.json").read_text())["virtual_s"] < 10


APP = """\
from ryu.app.wsgi import ControllerBase, Response, WSGIApplication, route
from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls
from ryu.lib.packet import ethernet, packet
from ryu.topology import event


class Told(app_manager.RyuApp):
    _CONTEXTS = {"wsgi": WSGIApplication}

    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        self.links = set()
        named["wsgi"].register(Answers, {"app": self})

    @set_ev_cls([event.EventLinkAdd, event.EventLinkDelete])
    def changed(self, ev):
        if isinstance(ev, event.EventLinkAdd):
            self.links.add(str(ev.link))
        else:
            self.links.discard(str(ev.link))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def came(self, ev):
        print("from", packet.Packet(ev.msg.data).get_protocol(ethernet.ethernet).src, flush=True)


class Answers(ControllerBase):
    @route("told", "/told/{number}", methods=["GET"], requirements={"number": "[0-9]+"})
    def told(self, req, number, **_):
        links = len(self.data["app"].links)
        return Response(content_type="text/plain", body=f"asked for {number}; {links} links\\n")
"""

LOOP = """\
import os
import time

from mininet.net import Mininet
from mininet.node import RemoteController

net = Mininet(controller=RemoteController, autoSetMacs=True)
net.addController("c0")
s1, s2, s3 = (net.addSwitch(f"s{number}") for number in (1, 2, 3))
for one, two in ((s1, s2), (s2, s3), (s3, s1), (net.addHost("h1"), s1), (net.addHost("h2"), s2)):
    net.addLink(one, two)
net.start()
net.waitConnected()
time.sleep(40)  # twice 15 s until ports of a spanning tree pass packets
net.pingAll()
os.system("curl -s localhost:8081/told/7; curl -s localhost:8081/told/no")
net.stop()
"""


def test_a_controller_for_ryu_runs_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "lab.py").write_text(LOOP)
    app = "ryu.app.simple_switch_stp_13"
    controller = f"ryu-manager --observe-links --ofp-tcp-listen-port 6633 --wsapi-port 8081 {app} app.py"
    done = execute("--controller", controller, "lab.py", folder=tmp_path)
    # of six; a port that the spanning tree blocks hears nothing
    assert re.search(r"^asked for 7; [456] links$", done.stdout, re.MULTILINE) and "404 Not Found" in done.stdout
    assert "0% dropped" in done.stderr, done.stderr
    assert "from 00:00:00:00:00:01" in (tmp_path / "results/exec/lab/files/controller.txt").read_text()
    assert "controllers that did not answer" not in done.stderr


ASKS = """\
from ryu.base import app_manager
from ryu.lib import hub
from ryu.topology.api import get_all_switch


class Asks(app_manager.RyuApp):
    def start(self):
        hub.spawn(lambda: print("switches:", len(get_all_switch(self)), flush=True))
        return super().start()
"""


def test_a_module_of_ryu_finds_the_application_that_it_asks_for(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(ASKS)
    (tmp_path / "lab.sh").write_text("timeout 10 ryu-manager app.py\n")
    done = execute("lab.sh", folder=tmp_path)
    assert "switches: 0" in done.stdout, done.stdout


def test_a_controller_that_ends_at_once_is_told(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text("")
    done = execute("--controller", "echo gone; exit 3", "lab.py", folder=tmp_path)
    assert "the controller ended with status 3 before the script began; files/controller.txt" in done.stderr
    assert (tmp_path / "results/exec/lab/files/controller.txt").read_text() == "gone\n"


def test_a_storm_is_told_with_its_switches(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(
        "from mininet.net import Mininet\nfrom mininet.node import OVSBridge\nimport sys\n"
        "net = Mininet(controller=None)\n"
        "s1, s2, s3 = (net.addSwitch(f's{n}', cls=OVSBridge, stp='stp' in sys.argv) for n in (1, 2, 3))\n"
        "for one, two in ((s1, s2), (s2, s3), (s3, s1), (net.addHost('h1'), s1), (net.addHost('h2'), s2)):\n"
        "    net.addLink(one, two)\n"
        "net.start()\nnet['h1'].cmd('sleep 60; ping -c 3 10.0.0.2')\nnet.stop()\n"
    )
    done = execute("--link-rate", "1mbit", "lab.py", folder=tmp_path)
    assert re.search(r"switches form the loop s\d-s\d-s\d-s\d, where s\d-eth\d sent [\d,]+ packets", done.stderr)
    assert "the loop" not in execute("--link-rate", "1mbit", "lab.py", "stp", folder=tmp_path).stderr


def test_a_console_that_a_guest_has_replaced_is_not_read(tmp_path: Path) -> None:
    storm = {"loops": [["s1", "s2", "s3"]], "interface": "s1-eth1", "pkts": 20000, "from_hosts_pkts": 7}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(f"storm: {json.dumps(storm)}\r\n", newline="")
    console = tmp_path / "logs" / "console.log"
    console.parent.mkdir()
    assert list(hints.of_console(tmp_path, 512)) == []
    console.symlink_to(elsewhere)
    assert list(hints.of_console(tmp_path, 512)) == []
    console.unlink()
    os.mkfifo(console)
    assert list(hints.of_console(tmp_path, 512)) == []
    console.unlink()
    elsewhere.rename(console)
    with console.open("a") as file:
        file.write("running: ovs-vswitchd (process 38)\n")
    (sentence,) = hints.of_console(tmp_path, 512)
    assert "the loop s1-s2-s3-s1, where s1-eth1 sent 20,000 packets" in sentence


def test_a_guest_to_which_the_host_gives_no_process_says_so(tmp_path: Path) -> None:
    console = tmp_path / "logs" / "console.log"
    console.parent.mkdir()
    console.write_text("start_userspace : clone failed, errno = 11\nreboot: Power down\n")
    expected = "; this host refused the guest a process (Resource temporarily unavailable)"
    assert list(hints.of_console(tmp_path, 512)) == [expected]


TWO = """\
import sys
def main():
    if sys.argv:
\tprint "virtual", xrange(3)[-1]
\tfor key, value in {1: 2}.iteritems(): print key, value
main()
"""


def test_python_2_is_recognised_and_converted(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(TWO)
    done = execute("lab.py", folder=tmp_path)
    assert done.returncode == 1 and "`testbed exec --python2` converts a copy of the folder first" in done.stderr
    well = execute("--python2", "lab.py", folder=tmp_path)
    assert (well.returncode, well.stdout) == (0, "virtual 2\n1 2\n"), well.stderr
    assert (tmp_path / "lab.py").read_text() == TWO
    (tmp_path / "old").mkdir()
    (tmp_path / "old/lab.py").write_text("print 'a' b\n")
    beside = execute("--python2", "lab.py", folder=tmp_path)
    assert beside.stdout == well.stdout
    assert "old/lab.py: is neither Python 2 nor Python 3, and stays as it is (bad input" in beside.stderr


PIPES_OF_TWO = """\
import re
from monitor import *
from subprocess import Popen, PIPE, check_output
print re.findall("a|b", Popen("echo ab", shell=True, stdout=PIPE).stdout.read())
print check_output(["echo", "c"]).strip() + "d", type(decoded())
from mininet.net import Mininet
net = Mininet(controller=None)
h1 = net.addHost("h1")
print h1.popen("echo e", shell=True).communicate()[0].split("\\n"), h1.pexec("echo f")[0].strip()
net.stop()
"""


def test_pipes_of_a_script_for_python_2_have_text(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(PIPES_OF_TWO)
    monitor = "import subprocess\ndef decoded(): return subprocess.check_output(['echo', 'g']).decode()\n"
    (tmp_path / "monitor.py").write_text(monitor)
    done = execute("--python2", "lab.py", folder=tmp_path)
    assert done.stdout == "['a', 'b']\ncd <class 'str'>\n['e', ''] f\n", done.stderr


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_requirements_for_another_python_do_not_stop_a_script(encoding: str, tmp_path: Path) -> None:
    lines = "numpy==1.19.5\nryu==4.34\nmininet==2.3.0\ngit+https://example.org/one.git\n# no more\n"
    (tmp_path / "requirements.txt").write_text(lines, encoding=encoding)
    named = packages.requirements_of(None, tmp_path)
    assert named.requirements == ()
    there = "numpy==1.19.5, ryu==4.34, mininet==2.3.0"
    assert named.left_out == (
        "requirements.txt: left out git+https://example.org/one.git (no name on the Python Package Index)",
        f"requirements.txt: left out {there} (the guest has it, maybe in another version)",
    )


def test_requirements_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_bytes(b"numpy\n\xff")
    with pytest.raises(EngineError, match=r"^requirements.txt: found bytes that are no text .*`--no-requirements`$"):
        packages.requirements_of(None, tmp_path)
    assert packages.requirements_of(None, tmp_path, file=False).requirements == ()


@pytest.mark.parametrize(
    ("output", "module", "files", "sentence"),
    [
        (
            "",
            "helper",
            ("lib/helper.py",),
            "Python modules of yours not found: helper (they lie elsewhere in",
        ),
        ("", "helper", (), "Python modules not found: helper ("),
        ("", "ryu.app.x", (), "parts of Ryu that os-ken, its successor in the guest, does not have: ryu.app.x"),
        ("", "helper", ("../helper.py",), "helper (they lie above the working folder"),
        ("", "util", ("../.gitmodules",), "submodules are missing: work/util (`git submodule update"),
        ("", "pox.core", (), "POX is in no registry"),
        ("TypeError: a bytes-like object is required, not 'str'\n", None, (), "if the script was written for it"),
        ("/usr/bin/python3: No module named SimpleHTTPServer\n", None, (), "is written for Python 2"),
        ("SyntaxError: Lambda expression parameters cannot be parenthesized\n", None, (), "is written for Python 2"),
        ("sh: 1: python2.7: not found\n", None, (), "written for Python 2"),
        ("SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?\n", None, (), "for Python 2"),
    ],
)
def test_a_sentence_says_what_helps(
    output: str, module: str | None, files: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    results, work = tmp_path / "results", tmp_path / "work"
    results.mkdir()
    (results / "stdout.txt").write_text(output)
    (work / "util").mkdir(parents=True)
    for name in files:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("[submodule]\n\tpath = work/util\n" if name.endswith(".gitmodules") else "")
    noted = [f"module {module}"] if module else []
    (told,) = missing.sentences(missing.missing(results, noted, work))
    assert sentence in told


def test_a_program_for_python_2_is_found_by_the_log_that_it_leaves(tmp_path: Path) -> None:
    log = tmp_path / "files" / "logs" / "client.log"
    log.parent.mkdir(parents=True)
    log.write_text("AttributeError: 'dict' object has no attribute 'has_key'\n")
    (tmp_path / "stdout.txt").write_text("")
    assert missing.missing(tmp_path, [], tmp_path) == ["python2 words"]


def test_a_controller_that_answers_at_its_second_port_is_not_missed(tmp_path: Path) -> None:
    asked = "Unable to contact the remote controller at 127.0.0.1:6653\n"
    (tmp_path / "stdout.txt").write_text(f"{asked}Connecting to remote controller at 127.0.0.1:6633\n")
    assert missing.missing(tmp_path, [], tmp_path) == []
    (tmp_path / "stdout.txt").write_text(asked)
    assert missing.missing(tmp_path, [], tmp_path) == ["controller 127.0.0.1:6653"]


def test_another_package_named_mininet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text("")
    done: subprocess.CompletedProcess[str] = execute("--pip", "mininet", "lab.py", folder=tmp_path)
    assert done.returncode == 2 and "found the Python package mininet, which is another" in done.stderr
