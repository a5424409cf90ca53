#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: HIDL's frozen hash changes with a comment or a blank; AIDL's frozen form does not.
#
# Version: hidl-gen 10.0.0+r36 and aidl 10.0.0+r36 of Debian 12, built from one release of Android.
#
# A released HIDL interface is frozen by its line of current.txt (hidl-gen -L hash), which services
# also report at run time; a released AIDL interface by what `aidl --dumpapi` writes.
# One would have guessed: both look at the interface, its names, types and order, so that mending a
# comment in a frozen interface is free in either.
# Behaviour: hidl-gen hashes the bytes of the file (it is sha256sum's value): a comment, or a
# blank in an empty line, makes another hash. aidl's three dumps are the same.
# Output seen: "hidl: 3 hashes of 3 files, equal to sha256sum's" and "aidl: 1 dump of 3 files".
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
chmod 755 .
apt-get -qq download hidl-gen=10.0.0+r36-3 aidl=1:10.0.0+r36-4+b1 android-libbase=1:29.0.6-28 \
	android-liblog=1:29.0.6-28 android-libcutils=1:29.0.6-28 libatomic1=12.2.0-14+deb12u1 \
	android-libboringssl=13.0.0+r24-2 2>apt-messages || { cat apt-messages >&2; exit 1; }
for package in *.deb; do
	dpkg -x "$package" .
done
LD_LIBRARY_PATH=$(echo "$PWD"/usr/lib/*/android):$(echo "$PWD"/usr/lib/*-gnu)
export LD_LIBRARY_PATH
mkdir -p types/demo/1.0 demo
for variant in '' '// A comment.' ' '; do
	printf 'package finding.demo@1.0;\n%s\nenum Demo : int32_t { ONE };\n' "$variant" \
		>types/demo/1.0/types.hal
	hash=$(usr/bin/hidl-gen -L hash -p types -r finding:. finding.demo@1.0)
	[ "${hash%% *}" = "$(sha256sum <types/demo/1.0/types.hal | cut -d' ' -f1)" ]
	echo "$hash" >>hashes
	printf 'package demo;\n%s\ninterface Demo { void one(int x); }\n' "$variant" >demo/Demo.aidl
	usr/bin/aidl --dumpapi --structured --out=dump demo/Demo.aidl
	sha256sum dump/demo/Demo.aidl >>dumps
done
hashes=$(sort -u hashes | wc -l)
dumps=$(sort -u dumps | wc -l)
echo "hidl: $hashes hashes of 3 files, equal to sha256sum's"
echo "aidl: $dumps dump of 3 files"
[ "$hashes" = 3 ]
[ "$dumps" = 1 ]
