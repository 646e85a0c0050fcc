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
from collections.abc import Callable

_GET_FLAGS, _SET_FLAGS, _SET_ADDRESS, _SET_NETMASK, _SET_HARDWARE_ADDRESS = 0x8913, 0x8914, 0x8916, 0x891C, 0x8924
_UP, _RUNNING, _ETHERNET = 0x1, 0x40, 1
_NEW_LINK, _DELETE_LINK = 16, 17
_ACKNOWLEDGED, _NEW = 0x5, 0x605
_ADDRESS, _NAME, _ABOUT, _PROCESS = 1, 3, 18, 19  # attributes of a link
_KIND, _DATA, _PEER = 1, 2, 1
_ANY_LINK = struct.pack("BxHiII", 0, 0, 0, 0, 0)

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


def _up(process: int, name: str) -> str:
    with _socket(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        _change_flags(control, name, on=_UP | _RUNNING)
    return ""


def _down(process: int, name: str) -> str:
    with _socket(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        _change_flags(control, name, off=_UP)
    return ""


def _hardware_address(process: int, name: str, mac: str) -> str:
    with _socket(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_HARDWARE_ADDRESS, _about(name, struct.pack("H6s", _ETHERNET, _bytes(mac))))
    return ""


def _address(process: int, name: str, address: str, bits: str) -> str:
    netmask = 0xFFFFFFFF << (32 - int(bits)) & 0xFFFFFFFF
    with _socket(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_ADDRESS, _about(name, _internet(socket.inet_aton(address))))
        _change_flags(control, name, on=_UP | _RUNNING)
        fcntl.ioctl(control, _SET_NETMASK, _about(name, _internet(struct.pack("!I", netmask))))
    return ""


def _delete(process: int, name: str) -> str:
    try:
        _ask(process, _DELETE_LINK, _ACKNOWLEDGED, _attribute(_NAME, _text(name)))
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
        return f'Cannot find device "{name}"\r\n'
    return ""


def _add_pair(process: int, name: str, mac: str | None, peer: str, peer_mac: str | None, there: str) -> str:
    other = _named(peer, peer_mac) + _attribute(_PROCESS, struct.pack("I", int(there)))
    about = _attribute(_KIND, b"veth") + _attribute(_DATA, _attribute(_PEER, _ANY_LINK + other))
    _ask(process, _NEW_LINK, _NEW, _named(name, mac) + _attribute(_ABOUT, about))
    return ""


def _named(name: str, mac: str | None) -> bytes:
    return _attribute(_NAME, _text(name)) + (_attribute(_ADDRESS, _bytes(mac)) if mac else b"")


def _ask(process: int, what: int, flags: int, attributes: bytes) -> None:
    """Send a request of rtnetlink. Raises OSError with the kernel's answer if it refuses."""
    request = struct.pack("IHHII", 16 + len(_ANY_LINK + attributes), what, flags, 1, 0) + _ANY_LINK + attributes
    with _socket(process, socket.AF_NETLINK, socket.SOCK_RAW) as kernel:
        kernel.send(request)
        (error,) = struct.unpack_from("i", kernel.recv(4096), 16)
    if error:
        raise OSError(-error, os.strerror(-error))


def _attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def _change_flags(control: socket.socket, name: str, on: int = 0, off: int = 0) -> None:
    before = fcntl.ioctl(control, _GET_FLAGS, _about(name, b""))
    (flags,) = struct.unpack_from("H", before, 16)
    fcntl.ioctl(control, _SET_FLAGS, _about(name, struct.pack("H", flags & ~off | on)))


def _about(name: str, value: bytes) -> bytes:
    """A `struct ifreq`."""
    return struct.pack("16s24s", name.encode(), value)


def _internet(address: bytes) -> bytes:
    return struct.pack("HH4s", socket.AF_INET, 0, address)


def _text(name: str) -> bytes:
    return name.encode() + b"\0"


def _bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def _socket(process: int, family: int, kind: int) -> socket.socket:
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
