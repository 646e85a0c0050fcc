# SPDX-License-Identifier: MIT
"""Added to Mininet in the lab: sets interfaces up by system calls in place of programs.

While Mininet builds a network, the shell of each host starts `ifconfig` and `ip` five times. In a guest each start
takes some 300 system calls and page faults, which is most of what a network's start costs. The calls made here are
those that these programs make, in their order. Commands of any other form, and those that fail, are left to them.
"""

import errno
import fcntl
import os
import re
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

_GET_FLAGS, _SET_FLAGS, _SET_ADDRESS, _SET_NETMASK, _SET_HARDWARE_ADDRESS = 0x8913, 0x8914, 0x8916, 0x891C, 0x8924
_UP, _RUNNING, _ETHERNET = 0x1, 0x40, 1
_NEW_LINK, _DELETE_LINK = 16, 17
_ACKNOWLEDGED, NEW = 0x5, 0x605
_ADDRESS, _NAME, _ABOUT, _PROCESS = 1, 3, 18, 19  # attributes of a link
_KIND, _DATA, _PEER = 1, 2, 1
_ANY_LINK = struct.pack("BxHiII", 0, 0, 0, 0, 0)

_LOOKS = 100
_LISTENS = "0A"  # in /proc/net/tcp

_Command = Callable[..., str]


def done(process: int, command: str) -> str | None:
    """Carry out a command in the network namespace of a process: what it prints, or None if it is for the programs."""
    for pattern, carry_out in _COMMANDS:
        if found := pattern.fullmatch(command):
            try:
                return carry_out(process, **found.groupdict())
            except OSError:
                return None
    return None


def wait_for_listener(process: int, port: int) -> None:
    """Wait for a controller that has been started: a switch that asks it too early asks again after a second.

    Starting takes no virtual time, so a controller that is coming is there at the next millisecond.
    """
    for _ in range(_LOOKS):
        sockets = (line.split() for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:])
        if any(words[1].endswith(f":{port:04X}") and words[3] == _LISTENS for words in sockets):
            return
        time.sleep(0.001)


def _up(process: int, name: str) -> str:
    with socket_of(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        _change_flags(control, name, on=_UP | _RUNNING)
    return ""


def _down(process: int, name: str) -> str:
    with socket_of(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        _change_flags(control, name, off=_UP)
    return ""


def _hardware_address(process: int, name: str, mac: str) -> str:
    with socket_of(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_HARDWARE_ADDRESS, about_interface(name, struct.pack("H6s", _ETHERNET, _bytes(mac))))
    return ""


def _address(process: int, name: str, address: str, bits: str) -> str:
    netmask = 0xFFFFFFFF << (32 - int(bits)) & 0xFFFFFFFF
    with socket_of(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_ADDRESS, about_interface(name, _internet(socket.inet_aton(address))))
        _change_flags(control, name, on=_UP | _RUNNING)
        fcntl.ioctl(control, _SET_NETMASK, about_interface(name, _internet(struct.pack("!I", netmask))))
    return ""


def _delete(process: int, name: str) -> str:
    try:
        ask(process, _DELETE_LINK, _ACKNOWLEDGED, _ANY_LINK + attribute(_NAME, _text(name)))
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
        return f'Cannot find device "{name}"\r\n'
    return ""


def _add_pair(process: int, name: str, mac: str | None, peer: str, peer_mac: str | None, there: str) -> str:
    other = _named(peer, peer_mac) + attribute(_PROCESS, struct.pack("I", int(there)))
    about = attribute(_KIND, b"veth") + attribute(_DATA, attribute(_PEER, _ANY_LINK + other))
    ask(process, _NEW_LINK, NEW, _ANY_LINK + _named(name, mac) + attribute(_ABOUT, about))
    return ""


def _named(name: str, mac: str | None) -> bytes:
    return attribute(_NAME, _text(name)) + (attribute(_ADDRESS, _bytes(mac)) if mac else b"")


def ask(process: int, what: int, flags: int, body: bytes) -> None:
    """Send a request of rtnetlink. Raises OSError with the kernel's answer if it refuses."""
    with socket_of(process, socket.AF_NETLINK, socket.SOCK_RAW) as kernel:
        kernel.send(struct.pack("IHHII", 16 + len(body), what, flags, 1, 0) + body)
        (error,) = struct.unpack_from("i", kernel.recv(4096), 16)
    if error:
        raise OSError(-error, os.strerror(-error))


def attribute(kind: int, content: bytes) -> bytes:
    """An attribute of a request of rtnetlink."""
    return struct.pack("HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def _change_flags(control: socket.socket, name: str, on: int = 0, off: int = 0) -> None:
    before = fcntl.ioctl(control, _GET_FLAGS, about_interface(name, b""))
    (flags,) = struct.unpack_from("H", before, 16)
    fcntl.ioctl(control, _SET_FLAGS, about_interface(name, struct.pack("H", flags & ~off | on)))


def about_interface(name: str, value: bytes) -> bytes:
    """A `struct ifreq`."""
    return struct.pack("16s24s", name.encode(), value)


def _internet(address: bytes) -> bytes:
    return struct.pack("HH4s", socket.AF_INET, 0, address)


def _text(name: str) -> bytes:
    return name.encode() + b"\0"


def _bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def socket_of(process: int, family: int, kind: int) -> socket.socket:
    """A socket in the network namespace of a process."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.setns(there, os.CLONE_NEWNET)
            try:
                return socket.socket(family, kind)
            finally:
                os.setns(home, os.CLONE_NEWNET)
        finally:
            os.close(there)
    finally:
        os.close(home)


_A_NAME = r"[\w.-]{1,15}"
_A_MAC = r"(?:[\da-fA-F]{2}:){5}[\da-fA-F]{2}"
_AN_ADDRESS = r"(?P<address>\d+(?:\.\d+){3})/(?P<bits>[1-9]|[12]\d|3[01])"  # `ifconfig` does not understand 32 bits
_COMMANDS: tuple[tuple[re.Pattern[str], _Command], ...] = tuple(
    (re.compile(pattern), carry_out)
    for pattern, carry_out in (
        (rf"ifconfig (?P<name>{_A_NAME}) up", _up),
        (rf"ifconfig (?P<name>{_A_NAME}) down", _down),
        (rf"ifconfig (?P<name>{_A_NAME}) hw ether (?P<mac>{_A_MAC})", _hardware_address),
        (rf"ifconfig (?P<name>{_A_NAME}) {_AN_ADDRESS}(?: up)?", _address),
        (rf"ip link del (?P<name>{_A_NAME})", _delete),
        (
            rf"ip link add name (?P<name>{_A_NAME})(?: address (?P<mac>{_A_MAC}))? type veth"
            rf" peer name (?P<peer>{_A_NAME})(?: address (?P<peer_mac>{_A_MAC}))? netns (?P<there>\d+)",
            _add_pair,
        ),
    )
)
