#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: to hidl-gen 010 is ten, and to aidl it is a floating-point number.
#
# Version: hidl-gen 10.0.0+r36 and aidl 10.0.0+r36 of Debian 12, built from one release of Android.
#
# HALs take flags and modes from C headers, where a leading zero makes a number octal, as it does in
# C++ and Java, for which both compilers write code.
# One would have guessed: 010 is 8 in both, and 08 is refused; or any leading zero is refused.
# Behaviour: in HIDL a leading zero has no meaning, there is no message, and 0777 becomes 777. In
# AIDL 010 fits a double, as 10, but no int. No value is what the same text means in C++ and Java.
# Output seen:
#   hidl: MODE = 777, EIGHT = 8, FLAGS = 11
#   aidl: double d = 010 is 10.000000
#   aidl: int i = 010: Expecting type int but constant is a floating-point literal
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
cat >types/demo/1.0/types.hal <<'HIDL'
package finding.demo@1.0;
enum Demo : int32_t { MODE = 0777, EIGHT = 08, FLAGS = 010 | 1 };
HIDL
usr/bin/hidl-gen -L c++-headers -o out -p types -r finding:. finding.demo@1.0 >messages 2>&1
[ ! -s messages ]
values=$(sed -n '/^enum class Demo.*{/,/^}/s|^ *\([A-Z]* = [0-9]*\).*|\1|p' \
	out/finding/demo/1.0/types.h | paste -sd, | sed 's/,/, /g')
echo 'package demo; parcelable Demo { double d = 010; }' >demo/Demo.aidl
echo 'package demo; parcelable Int { int i = 010; }' >demo/Int.aidl
usr/bin/aidl --lang=java --structured -o out demo/Demo.aidl
status=0
usr/bin/aidl --lang=java --structured -o out demo/Int.aidl 2>refused || status=$?
[ $status != 0 ]
{
	echo "hidl: $values"
	sed -n 's|^ *public double d = \(.*\);$|aidl: double d = 010 is \1|p' out/demo/Demo.java
	sed -n 's|^ERROR: [^ ]* |aidl: int i = 010: |p' refused
} >seen
cat seen
diff seen - <<'SEEN'
hidl: MODE = 777, EIGHT = 8, FLAGS = 11
aidl: double d = 010 is 10.000000
aidl: int i = 010: Expecting type int but constant is a floating-point literal
SEEN
