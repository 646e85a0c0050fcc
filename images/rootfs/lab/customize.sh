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

# Mininet lets each node's shell close 16,384 descriptors one by one, a fifth of a second here; since Python 3.4 a child
# has none to close
sed -i "s/opts = '-cd' if mnopts is None/opts = '-d' if mnopts is None/" "$root"/usr/lib/python3/dist-packages/mininet/node.py
grep -q "opts = '-d' if mnopts is None" "$root"/usr/lib/python3/dist-packages/mininet/node.py
