#!/bin/sh
# SPDX-License-Identifier: MIT
# Run by mmdebstrap with the lab's root as $1, before ../customize.sh: what scripts find other than on a Debian host.
set -eu
root=$1
here=$(dirname "$0")
python="$root"/usr/lib/python3/dist-packages

chroot "$root" python3 - <"$here/adapt.py"
cat "$here/node.py.more" >>"$python"/mininet/node.py
cp "$here/quick.py" "$here/links.py" "$here/typed.py" "$python"/mininet/
cp -r "$here/ryu" "$python"/
# by default this file of Debian's reports crashes to Ubuntu, if that is there
rm -f "$root"/usr/lib/python3*/sitecustomize.py "$root"/etc/python3*/sitecustomize.py
cp "$here/sitecustomize.py" "$python"/
install -m 755 "$here/sudo" "$root"/usr/bin/
install -m 755 "$here/controller" "$root"/usr/sbin/
install -m 755 "$here/ryu-manager" "$root"/usr/bin/
mkdir -p "$root"/usr/lib/testbed
mv "$root"/usr/sbin/tc "$root"/usr/lib/testbed/
install -m 755 "$here/tc" "$root"/usr/sbin/

# from an archive, a program reads its locale with 4 system calls in place of 70
chroot "$root" localedef --add-to-archive /usr/lib/locale/C.utf8
