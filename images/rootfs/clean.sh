#!/bin/sh
# SPDX-License-Identifier: MIT
# Last step of a program's root, run by mmdebstrap with the root as $1: what differs between two builds goes, Python is
# compiled ahead where there is one.
set -eu
root=$1

rm -f "$root"/etc/apt/sources.list "$root"/etc/resolv.conf "$root"/etc/hostname "$root"/etc/machine-id
rm -rf "$root"/var/log/* "$root"/var/cache/* "$root"/var/lib/apt/lists "$root"/var/lib/systemd "$root"/boot
mkdir -p "$root"/var/cache
if [ -x "$root"/usr/bin/python3 ]; then
	# unchecked: valid whatever the source's time stamp becomes on the host's file system
	find "$root"/usr/lib/python3* -name __pycache__ -prune -exec rm -rf {} +
	chroot "$root" sh -euc 'python3 -W ignore -m compileall -q -f -j 1 --invalidation-mode unchecked-hash /usr/lib/python3*'
fi

chroot "$root" dpkg-query --show >"$root/packages.txt"
