"""Addresses of both versions of IP have the same numbers in them."""

import socket

import pytest

from topologies import by_name
from topologies.pairs import DESTINATION, SOURCE, like, of_version

SCENARIO = {
    "topology": {"name": "dumbbell", "pairs": 250},
    "bottleneck": {"rate_bps": 10_000_000, "buffer_pkts": 40},
    "delay": {"forward_ns": 1, "backward_ns": 1},
}


@pytest.mark.parametrize(
    ("version", "written"),
    [
        (4, ("10.0.12.1", "10.1.250.254", "10.2.0.2", "10.1.0.0/16", "10.0.3.0/24")),
        (6, ("fd00:0:12::1", "fd00:1:250::fe", "fd00:2::2", "fd00:1::/32", "fd00:0:3::/64")),
    ],
)
def test_addresses_are_written_as_the_kernel_writes_them(version: int, written: tuple[str, ...]) -> None:
    known = of_version(version)
    assert written == (
        known.host(SOURCE, 12),
        known.gateway(DESTINATION, 250),
        known.link(0, 2),
        known.side(DESTINATION),
        known.pair(SOURCE, 3),
    )


@pytest.mark.parametrize("version", [4, 6])
def test_the_mask_tells_hosts_from_all_other_addresses(version: int) -> None:
    network, known = by_name.describe(SCENARIO | {"ip": version}), of_version(version)
    mask, host = (int.from_bytes(known.packed(text)) for text in (known.host_mask, known.host(SOURCE, 0)))
    addresses = {address.partition("/")[0] for ends in network.links for end in ends for address in end.addresses}
    hosts = {node.address for node in network.nodes.values() if node.address}
    assert len(hosts) == 500
    assert {address for address in addresses if int.from_bytes(known.packed(address)) & mask == host} == hosts
    assert {like(address) for address in addresses} == {known}
    for address in addresses:
        assert address == socket.inet_ntop(known.family, known.packed(address))
