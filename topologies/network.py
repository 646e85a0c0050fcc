"""A Mininet whose nodes, links and switches are set up in batches. Everything else of Mininet works as ever.

Measured where it matters, at a guest's start: Mininet's own classes take some 150 processes for a dumbbell, these
take one `ip` and at most one `tc` per node. A node is a network namespace; the shell that Mininet keeps in each node
is started when the first command for it comes (the CLI, ``node.cmd``), which most runs never do.
"""

import array
import fcntl
import os
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Node, OVSSwitch
from mininet.topo import Topo
from mininet.util import errRun

from topologies.batch import Batch, entered
from topologies.links import Shaping, changed, shaping, tc
from topologies.links.base import Bottleneck, Parts
from topologies.pairs import IPV6, Addresses, like

_SIOCETHTOOL = 0x8946
# ethtool's set commands for segmentation and receive offloads (include/uapi/linux/ethtool.h)
_ETHTOOL_STSO, _ETHTOOL_SGSO, _ETHTOOL_SGRO = 0x1F, 0x24, 0x2C

# Guests boot without IPv6. A network that has it sends nothing by itself: no address but the given ones, no
# neighbours to be found, and no groups to be reported.
_IPV6_SYSCTLS = {"net/ipv6/conf/all/disable_ipv6": "0", "net/ipv6/conf/default/addr_gen_mode": "1"}
_IPV6_FORWARDING = "net/ipv6/conf/all/forwarding"
_SILENT = " arp off multicast off"


def set_sysctl(namespace: int | None, name: str, value: str) -> None:
    """Set one sysctl of the namespace behind a descriptor (None: the first one); `name` has slashes."""
    with entered(namespace), open(f"/proc/sys/{name}", "w") as file:
        file.write(value)


class BatchNode(Node):  # type: ignore[misc]
    """A host: a network namespace, with a shell once a command needs one.

    With `offload` its TCP builds packets of many segments, as over a network card that cuts them.
    """

    isSetup = True  # noqa: N815  Mininet would start a process per program to see whether it is installed

    def __init__(
        self,
        name: str,
        configuration: Batch,
        sysctls: dict[str, str] | None = None,
        offload: bool = False,
        **params: Any,
    ) -> None:
        self.configuration = configuration
        self.namespace: int | None = None
        self.sysctls = sysctls or {}
        self.offload = offload
        super().__init__(name, **params)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802, ARG002  Mininet's names
        """Make the namespace; called by Mininet when a node is made."""
        if not self.inNamespace:
            return
        with entered(None):
            home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            os.unshare(os.CLONE_NEWNET)
            self.namespace = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            os.setns(home, os.CLONE_NEWNET)
            os.close(home)
        for name, value in self.sysctls.items():
            self.set_sysctl(name, value)

    def set_sysctl(self, name: str, value: str) -> None:
        """Set one sysctl of this node's namespace; `name` has slashes, as below /proc/sys."""
        set_sysctl(self.namespace, name, value)

    def netns_words(self) -> str:
        """Return the words with which ``ip link add`` puts an interface into this node."""
        return "" if self.namespace is None else f" netns /proc/{os.getpid()}/fd/{self.namespace}"

    def _shell(self) -> None:
        if self.shell is None:
            # already in the namespace: Mininet must not make another one
            self.inNamespace = False
            with entered(self.namespace):
                super().startShell()
            self.inNamespace = self.namespace is not None

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        """Like Mininet's, but start the shell first if there is none."""
        self._shell()
        return super().cmd(*args, **kwargs)

    def sendCmd(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802  Mininet's name
        """Like Mininet's, but start the shell first if there is none."""
        self._shell()
        super().sendCmd(*args, **kwargs)

    def popen(self, *args: Any, **kwargs: Any) -> Any:
        """Like Mininet's, but start the shell first if there is none."""
        self._shell()
        return super().popen(*args, **kwargs)

    def spawn(
        self, arguments: list[str], output: int, errors: int, environment: Mapping[str, str] | None = None
    ) -> int:
        """Start a program in this node's namespace without a shell; returns its process number."""
        with entered(self.namespace):
            return os.posix_spawnp(
                arguments[0],
                arguments,
                os.environ if environment is None else environment,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, output, 1),
                    (os.POSIX_SPAWN_DUP2, errors, 2),
                ],
                setsid=True,
            )

    def config(self, routes: list[str] | None = None, **_params: Any) -> dict[str, Any]:
        """Bring up the loopback and add `routes` (the words after ``ip route add``)."""
        self.configuration.ip(self.namespace, self.name, "link set lo up")
        for route in routes or []:
            self.configuration.ip(self.namespace, self.name, f"route add {route}")
        return {}


class Router(BatchNode):
    """A node that forwards. Queues and delays belong here, never on an endpoint (TCP small queues would see them)."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802  Mininet's name
        """Make the namespace and let it forward."""
        super().startShell(mnopts)
        self.set_sysctl("net/ipv4/ip_forward", "1")
        # it ends no connection, so looking for a socket for each packet is useless
        self.set_sysctl("net/ipv4/ip_early_demux", "0")

    def set_mtu(self, host: str, interface: str, mtu_bytes: int) -> None:
        """Set the MTU of the way to a host. The interface keeps its own, or it would drop what is longer on arrival."""
        batch = Batch()
        way = like(host).alone(host)
        batch.ip(self.namespace, self.name, f"route replace {way} dev {interface} mtu {mtu_bytes}")
        batch.run()


class BatchIntf(Intf):  # type: ignore[misc]
    """An interface whose addresses, neighbours and shaping are set in the node's batch."""

    def config(
        self,
        addresses: list[str] | None = None,
        neighbours: list[tuple[str, str]] | None = None,
        egress: Shaping | None = None,
        silent: bool = False,
        **_params: Any,
    ) -> dict[str, Any]:
        """Set addresses like ``10.0.1.1/24`` and (IP, MAC) neighbours, permanent so that no ARP disturbs a run.

        With `silent`, IPv6 asks and reports nothing there, either.
        """
        node: BatchNode = self.node
        self.egress: Any = egress
        if silent:
            self.batch_ip(f"link set {self.name}{_SILENT}")
        for address in addresses or []:
            self.batch_ip(f"address add {address} dev {self.name}")
            self.ip, self.prefixLen = address.split("/")
        self.batch_ip(f"link set {self.name} up")
        for ip, mac in neighbours or []:
            # where the next hop of IPv6 is no router, Linux forgets a path's MTU after 30 s instead of 10 min
            router = " router" if ":" in ip else ""
            self.batch_ip(f"neighbour add {ip} lladdr {mac} nud permanent{router} dev {self.name}")
        if egress:
            for line in egress.add(self.name):
                node.configuration.tc(node.namespace, node.name, line)
        return {}

    def updateIP(self) -> str | None:  # noqa: N802  Mininet's name
        """Like Mininet's, which finds no address of IPv6: by this one, its command line knows a host's name."""
        return self.ip if self.ip and ":" in self.ip else super().updateIP()

    def batch_ip(self, line: str) -> None:
        """Add an ``ip`` line for this interface's node."""
        self.node.configuration.ip(self.node.namespace, self.node.name, line)

    def disable_offloads(self) -> None:
        """Switch TSO, GSO and GRO off: with them 40 "packets" in a queue are 40 bursts, whose packets share timestamps.

        A node with `offload` keeps GSO: in place of a network card, the kernel cuts packets before they enter the link.
        """
        commands = [_ETHTOOL_STSO, _ETHTOOL_SGRO, *([] if self.node.offload else [_ETHTOOL_SGSO])]
        with entered(self.node.namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            for command in commands:
                value = array.array("I", [command, 0])
                request = struct.pack("16sP16x", self.name.encode(), value.buffer_info()[0])
                fcntl.ioctl(any_socket, _SIOCETHTOOL, request)

    def reshape(self, egress: Shaping, traced: bool, seed: int | None) -> None:
        """Change the shaping in place, now; waiting packets keep waiting.

        What is `traced` changes so often that no process is started where a rate alone is new. With a `seed`, netem
        draws from it from now on; else it goes on with its own.
        """
        if traced and isinstance(egress, Bottleneck) and egress.queue_words() == self.egress.queue_words():
            tc.set_rate(self.node.namespace, self.name, egress.htb_rate_bps, egress.bucket_bytes)
            self.egress = egress
            return
        batch = Batch()
        for line in egress.change(self.name):
            drawn = f" seed {seed}" if seed is not None and " netem " in line else ""
            batch.tc(self.node.namespace, self.node.name, line + drawn)
        batch.run()
        self.egress = egress

    def read_shaping(self) -> Parts:
        """Ask the kernel for the shaping in force."""
        told: Parts = self.egress.read(self.node.namespace, self.name)
        return told


class BatchLink(Link):  # type: ignore[misc]
    """A veth pair between two nodes, made in their namespaces by one line."""

    @classmethod
    def makeIntfPair(  # noqa: N802  Mininet's name
        cls,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Any = None,
        node2: Any = None,
        deleteIntfs: bool = True,  # noqa: N803, ARG003
    ) -> None:
        """Add the line that makes the pair; gso_max_segs 1 keeps TCP from building packets of several segments."""
        end1, end2 = (
            f"name {name} address {mac}{'' if node.offload else ' gso_max_segs 1'}{node.netns_words()}"
            for name, mac, node in ((intfname1, addr1, node1), (intfname2, addr2, node2))
        )
        node1.configuration.link(f"link add {end1} type veth peer {end2}")


class BatchSwitch(BatchNode, OVSSwitch):  # type: ignore[misc]
    """An Open vSwitch bridge that forwards only by OpenFlow rules."""

    _daemons_started = False

    def __init__(self, name: str, rules: Sequence[str], **params: Any) -> None:
        self._made = False
        self.rules = rules
        super().__init__(name, failMode="secure", reconnectms=0, **params)
        self._made = True

    def add_rules(self, rules: Sequence[str]) -> None:
        """Add OpenFlow rules, written as for ovs-ofctl(8); a rule replaces the one that matches the same packets."""
        subprocess.run(["ovs-ofctl", "add-flows", self.name, "-"], input="\n".join(rules), text=True, check=True)

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        """Like Mininet's, but a switch under construction runs nothing: the loopback is up already."""
        return super().cmd(*args, **kwargs) if self._made else ""

    def intfOpts(self, intf: Any) -> str:  # noqa: N802  Mininet's name
        """Like Mininet's, but Open vSwitch leaves the qdisc of a shaped interface, which it would remove otherwise."""
        keep = f" -- --id=@{intf} create QoS type=linux-noop -- set Port {intf} qos=@{intf}" if intf.egress else ""
        return str(super().intfOpts(intf)) + keep

    @classmethod
    def isOldOVS(cls) -> bool:  # noqa: N802  Mininet's name
        """Return False without starting a process: the root file system has a current version."""
        return False

    @classmethod
    def batchStartup(cls, switches: Any, run: Any = errRun) -> Any:  # noqa: N802  Mininet's name
        """Start the daemons, then configure all switches in one ovs-vsctl transaction."""
        if not cls._daemons_started:
            start_switch_daemons()
            cls._daemons_started = True
        return super().batchStartup(switches, run)


_DAEMONS_NS = 12_000_000_000
"""When Open vSwitch starts (CLOCK_MONOTONIC): it looks for CPUs only once 10 s have passed. Started earlier, it runs no
handler thread and drops every packet that misses its cache."""


def start_switch_daemons() -> None:
    """Start Open vSwitch, as a service manager does elsewhere."""
    timer = os.timerfd_create(time.CLOCK_MONOTONIC)
    os.timerfd_settime_ns(timer, flags=os.TFD_TIMER_ABSTIME, initial=_DAEMONS_NS)
    os.read(timer, 8)
    os.close(timer)
    for command in _OVS_START:
        subprocess.run(command, check=True)


_OVS_START = (
    ["mkdir", "-p", "/run/openvswitch", "/var/log/openvswitch", "/etc/openvswitch"],
    ["ovsdb-tool", "create", "/run/openvswitch/conf.db", "/usr/share/openvswitch/vswitch.ovsschema"],
    ["ovsdb-server", "/run/openvswitch/conf.db", "--remote=punix:/run/openvswitch/db.sock", "--pidfile", "--detach"],
    ["ovs-vsctl", "--no-wait", "init"],
    ["ovs-vswitchd", "--pidfile", "--detach"],
)


class DescribedTopo(Topo):  # type: ignore[misc]
    """The topology of a description (`topologies.description`, as JSON data).

    `hosts` has for each host its `route_options` (words for its route), `sysctls` and `offload` (see `BatchNode`).
    """

    def build(self, network: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Called by Mininet's Topo with the constructor's arguments."""
        for name, node in network["nodes"].items():
            if node["kind"] == "switch":
                self.addSwitch(name, cls=BatchSwitch, rules=node["rules"])
            elif node["kind"] == "router":
                self.addHost(name, cls=Router, routes=node["routes"])
            elif node["kind"] == "relay":
                self.addHost(name)
            else:
                how = dict(hosts[name])
                options = how.pop("route_options")
                self.addHost(name, routes=[f"{route} {options}".strip() for route in node["routes"]], **how)
        for ends in network["links"]:
            options = _link_options(*ends)
            if addresses_of(network).version == IPV6:
                for number in (1, 2):
                    options[f"params{number}"]["silent"] = True
            self.addLink(*(end["node"] for end in ends), **options)


def addresses_of(network: Mapping[str, Any]) -> Addresses:
    """Return the addresses of a described network, whose hosts have them all of one version of IP."""
    return like(next(node["address"] for node in network["nodes"].values() if node["address"]))


def _link_options(*ends: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of ``addLink`` for a link. Mininet chooses the MAC address of an end that has none."""
    options: dict[str, Any] = {}
    for number, end in enumerate(ends, 1):
        options[f"intfName{number}"] = end["interface"]
        if end["mac"]:
            options[f"addr{number}"] = end["mac"]
        egress = shaping(end["egress"]) if end["egress"] else None
        options[f"params{number}"] = {"addresses": end["addresses"], "neighbours": end["neighbours"], "egress": egress}
    return options


class BatchMininet(Mininet):  # type: ignore[misc]
    """Mininet that sets up a described network in batches. `build` makes all namespaces, links, addresses and qdiscs.

    `hosts` is as in `DescribedTopo`; `sysctls` hold in all namespaces, that of the switches included.
    """

    def __init__(
        self, network: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]], sysctls: Mapping[str, str]
    ) -> None:
        self.configuration = Batch()
        self.sysctls = sysctls
        self.addresses = addresses_of(network)
        topo = DescribedTopo(network, hosts)
        for name, value in sysctls.items():
            set_sysctl(None, name, value)
        super().__init__(topo, switch=BatchSwitch, host=BatchNode, controller=None, link=BatchLink, intf=BatchIntf)

    @classmethod
    def init(cls) -> None:
        """Do nothing: Mininet would raise the first namespace's buffer sizes, with a process for each value."""

    def addHost(self, name: str, cls: Any = None, **params: Any) -> Any:  # noqa: N802  Mininet's name
        """Like Mininet's; nodes share this network's batch and sysctls."""
        own = _IPV6_SYSCTLS if self.addresses.version == IPV6 else {}
        params["sysctls"] = {**self.sysctls, **own, **params.get("sysctls", {})}
        return super().addHost(name, cls, configuration=self.configuration, **params)

    def addSwitch(self, name: str, cls: Any = None, **params: Any) -> Any:  # noqa: N802  Mininet's name
        """Like Mininet's; switches share this network's batch."""
        return super().addSwitch(name, cls, configuration=self.configuration, **params)

    def build(self) -> None:
        """Build like Mininet, then run the collected commands."""
        super().build()
        self.configuration.run()
        for node in self.hosts:
            if isinstance(node, Router) and self.addresses.version == IPV6:
                # earlier, its interfaces would report a group of routers
                node.set_sysctl(_IPV6_FORWARDING, "1")
            for intf in node.intfList():
                intf.disable_offloads()

    def start(self) -> None:
        """Start like Mininet, then give the switches their rules."""
        super().start()
        for switch in self.switches:
            switch.add_rules(switch.rules)

    def apply(self, changes: Sequence[Mapping[str, Any]]) -> list[BatchIntf]:
        """Change shaping, rules or MTUs of running nodes, now: what `topologies.description.Network.changes` lists.

        Returns the interfaces whose shaping changed.
        """
        reshaped = []
        for change in changes:
            node = self[change["node"]]
            if "rules" in change:
                node.add_rules(change["rules"])
            elif "mtu_bytes" in change:
                node.set_mtu(change["to"], change["interface"], change["mtu_bytes"])
            else:
                interface = node.nameToIntf[change["interface"]]
                egress = changed(interface.egress, change["set"])
                interface.reshape(egress, change.get("traced", False), change.get("seed"))
                reshaped.append(interface)
        return reshaped
