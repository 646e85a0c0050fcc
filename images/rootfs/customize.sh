#!/bin/sh
# SPDX-License-Identifier: MIT
# Last step of the guest's root file system, run by mmdebstrap with the root as $1: what differs between two builds
# goes, and Python is compiled ahead, since a guest must not spend its start on that.
set -eu
root=$1

rm -f "$root"/etc/apt/sources.list "$root"/etc/resolv.conf "$root"/etc/hostname "$root"/etc/machine-id
rm -rf "$root"/var/log/* "$root"/var/cache/* "$root"/var/lib/apt/lists "$root"/var/lib/systemd "$root"/boot
mkdir -p "$root"/var/log/openvswitch "$root"/var/cache "$root"/etc/openvswitch
# ovs-vsctl needs a database; an own one is made by the guest
rm -f "$root"/etc/openvswitch/*.db "$root"/etc/openvswitch/.*.lock "$root"/etc/openvswitch/system-id.conf

# keys that its installation makes up; nobody uses them
rm -rf "$root"/var/lib/openvswitch/pki "$root"/etc/openvswitch-testcontroller/*.pem

# the name by which Mininet's Controller looks for it
ln -s ovs-testcontroller "$root"/usr/bin/controller

# Mininet 2.3.0 waits for iperf's words about the connection that only looked whether the server listens; iperf 2.2 has
# none, and net.iperf() would never return
sed -i "s/count = 2 if l4Type == 'TCP' else 1/count = 1/" "$root"/usr/lib/python3/dist-packages/mininet/net.py

# unchecked: valid whatever the source's time stamp becomes on the host's file system
find "$root"/usr/lib/python3* -name __pycache__ -prune -exec rm -rf {} +
chroot "$root" sh -euc 'python3 -W ignore -m compileall -q -f -j 1 --invalidation-mode unchecked-hash /usr/lib/python3*'

chroot "$root" dpkg-query --show >"$root/packages.txt"
