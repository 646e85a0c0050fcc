#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles ns-2 in the build root: /seen/source.tar.xz and /seen/ns2 (this folder) become /build/ns.
# configure looks for Tcl where Debian does not have it, and for X11, which nothing here draws with, so its two
# templates are filled in by hand.
set -eu
mkdir source
tar -xJf /seen/source.tar.xz -C source --strip-components=1
cd source
patch -p1 --quiet </seen/ns2/interface.patch
cp /seen/ns2/tcp_ledbat.c tcp/linux/src/
sed -i 's|^\ttcp/linux/tcp_naivereno.o|& tcp/linux/src/tcp_ledbat.o|' Makefile.in
sed -i 's/int64_t maxpkts_/int maxpkts_/' packmime/packmime_OL.*  # Tcl reads an `int` of it

include="-I/usr/include/tclcl -I/usr/include/tcl8.6 -I/usr/include/tcl8.6/tcl-private/generic"
# written for compilers of 2011; Tcl hid a field since that the libraries of the time read
options="-O1 -w -fpermissive -fcommon -DUSE_INTERP_RESULT -DHAVE_LIBTCL8_6 -include string.h"
sed -e 's|@CC@|gcc -std=gnu89|; s|@CXX@|g++ -std=gnu++98|' \
	-e "s|@V_CCOPT@|$options|; s|@V_INCLUDES@|$include|; s|@V_LIB@|-ltclcl -lotcl -ltcl8.6|" \
	-e 's|@V_DEFINE@|-DTCLCL_CLASSINSTVAR -DNDEBUG|; s|@V_TCLSH@|tclsh8.6|; s|@V_TCL2CPP@|tcl2c++|; s|@PERL@|perl|' \
	-e 's|@V_STLOBJ@|$(OBJ_STL)|; s|@V_NS_TCL_LIB_STL@|$(NS_TCL_LIB_STL)|' \
	-e 's|@CPP_NAMESPACE@|std|; s|@[A-Za-z0-9_]*@||g' Makefile.in >Makefile
cp /seen/ns2/autoconf.h .
sed 's|@[A-Za-z0-9_]*@||g' tcl/lib/ns-autoconf.tcl.in >tcl/lib/ns-autoconf.tcl
mkdir gen
make -j"$1" ns
mv ns ../ns
cd ..
rm -rf source
