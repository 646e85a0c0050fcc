#!/bin/sh
# SPDX-License-Identifier: MIT
# First program of a guest with a distribution's kernel, whose root is its initial RAM disk: what init.c is elsewhere.
# The run folder /results lies in memory; at the end it goes as a tar to the first disk, which is used for nothing else.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs tmpfs /tmp
setsid /opt/testbed/engine/guest/start.py "$TESTBED_PROGRAM"
modprobe virtio_blk
tar --create --directory /results --file /dev/vda .
sync
echo o >/proc/sysrq-trigger
sleep 60
