#!/bin/sh
# SPDX-License-Identifier: MIT
# layer.sh BASE ROOT EPOCH PACKAGE...: copies a root file system and installs package files on top, in namespaces of its
# own, as `unshare` makes them. What differs between two builds goes, as in customize.sh.
set -eu
base=$1 root=$2 epoch=$3
shift 3

cp --archive --reflink=auto "$base" "$root"
mkdir "$root"/packages
cp "$@" "$root"/packages/
mount -t proc proc "$root"/proc
mount --rbind /dev "$root"/dev
printf '#!/bin/sh\nexit 101\n' >"$root"/usr/sbin/policy-rc.d # no services
chmod 755 "$root"/usr/sbin/policy-rc.d
# scripts of packages make links to pages there, and the base has none
mkdir -p "$root"/usr/share/man/man1

export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin SOURCE_DATE_EPOCH="$epoch"
# apt finds the order: a package may have to be configured before another one is unpacked
chroot "$root" sh -euc 'apt-get --yes --quiet --option APT::Sandbox::User=root install /packages/*.deb' </dev/null

rm -rf "$root"/packages "$root"/usr/sbin/policy-rc.d "$root"/var/log/* "$root"/var/cache/* "$root"/var/lib/dpkg/*-old
rm -f "$root"/etc/machine-id "$root"/etc/*-
mkdir -p "$root"/var/log/openvswitch
chroot "$root" dpkg-query --show >"$root"/../packages.txt
umount -l "$root"/dev "$root"/proc
chown -hR 0:0 "$root"
find "$root" -newermt "@$epoch" -exec touch -hd "@$epoch" {} +
