#!/bin/sh
# SPDX-License-Identifier: MIT
# First program of a guest with a distribution's kernel, whose root is its initial RAM disk; the counterpart of init.c.
# The run folder /results is in memory. At the end it goes as a tar archive to the first disk, which has no other use.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs tmpfs /tmp
modprobe overlay # what `enter` lays over this root for each program under test
setsid /opt/testbed/engine/guest/start.py "$TESTBED_PROGRAM"
modprobe virtio_blk
tar --create --directory /results --file /dev/vda .
sync
echo o >/proc/sysrq-trigger
sleep 60
