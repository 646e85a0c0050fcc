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

# unchecked: valid whatever the source's time stamp becomes on the host's file system
find "$root"/usr/lib/python3* -name __pycache__ -prune -exec rm -rf {} +
chroot "$root" python3 -W ignore -m compileall -q -f -j 1 --invalidation-mode unchecked-hash /usr/lib/python3 \
  /usr/lib/python3.*

chroot "$root" dpkg-query --show >"$root/packages.txt"
