#!/bin/sh
# SPDX-License-Identifier: MIT
# Run by mmdebstrap with the lab's root as $1, before ../customize.sh: what scripts find other than on a Debian host.
set -eu
root=$1
here=$(dirname "$0")

cat "$here/node.py.more" >>"$root"/usr/lib/python3/dist-packages/mininet/node.py
# by default this file of Debian's reports crashes to Ubuntu, if that is there
rm -f "$root"/usr/lib/python3*/sitecustomize.py "$root"/etc/python3*/sitecustomize.py
cp "$here/sitecustomize.py" "$root"/usr/lib/python3/dist-packages/
install -m 755 "$here/sudo" "$root"/usr/bin/sudo
