#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: hidl-gen lets enumerators wrap round, so that a derived enum's new name is an old value.
#
# Version: hidl-gen 10.0.0+r36 of Debian 12 (the last HIDL compiler; vendors' HALs still use it).
#
# One would have guessed: an enumerator past the end of its storage type is refused, as aidl does
# with constants and as C++ refuses `enum : uint8_t { A = 255, B }`; and what fits after it was
# computed is computed in the storage type, so that `(1 << 8) >> 4` of a uint8_t is either refused
# or 0.
# Behaviour: exit status 0 and no message. `NEXT` after 255, inherited from the enum that it
# extends, is 0, which `ZERO` is already; 256 becomes 0; but `(1 << 8) >> 4` is 16. The
# generated C++ has the wrapped number itself. `LARGE = 0xFFFFFFFF` of an int64_t is 4294967295
# (aidl 14 reads the same text as -1).
# Output seen:
#   ZERO = 0, LAST = 255, NEXT = 0, TOO_LARGE = 0, SHIFTED = 16, LARGE = 4294967295ll
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
chmod 755 .
apt-get -qq download hidl-gen=10.0.0+r36-3 android-libbase=1:29.0.6-28 \
	android-liblog=1:29.0.6-28 android-libboringssl=13.0.0+r24-2 2>apt-messages ||
	{ cat apt-messages >&2; exit 1; }
for package in *.deb; do
	dpkg -x "$package" .
done
mkdir -p types/demo/1.0
cat >types/demo/1.0/types.hal <<'HIDL'
package finding.demo@1.0;
enum First : uint8_t { ZERO = 0, LAST = 255 };
enum Second : First { NEXT };
enum Third : uint8_t { TOO_LARGE = 256, SHIFTED = (1 << 8) >> 4 };
enum Fourth : int64_t { LARGE = 0xFFFFFFFF };
HIDL
LD_LIBRARY_PATH=$(echo "$PWD"/usr/lib/*/android) usr/bin/hidl-gen -L c++-headers -o out \
	-p types -r finding:. finding.demo@1.0 >messages 2>&1
[ ! -s messages ]
seen=$(sed -n '/^enum class Second.*{/,/^}/p; /^enum class Third.*{/,/^}/p
	/^enum class Fourth.*{/,/^}/p' out/finding/demo/1.0/types.h |
	sed -n 's|^ *\([A-Z_]* = [^ ,]*\).*|\1|p' | paste -sd, | sed 's/,/, /g')
echo "$seen"
[ "$seen" = "ZERO = 0, LAST = 255, NEXT = 0, TOO_LARGE = 0, SHIFTED = 16, LARGE = 4294967295ll" ]
