#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: what aidl writes for the NDK does not compile if a versioned interface has a method named
# `version`.
#
# Version: aidl 14.0.0+r75-1 of Debian's sid; g++ of any Debian.
#
# `aidl --version=3` has the interface know its version: a method getInterfaceVersion(), and a
# constant. The names getInterfaceVersion and getInterfaceHash are kept from interfaces.
# One would have guessed: any other name may be a method's, in all languages or in none, and what
# the compiler takes without a word can be compiled.
# Behaviour: for the NDK the constant is the member `version`, in lower case, of the class that has
# the methods. For C++, Java and Rust it is VERSION, as methods are not named. The interface is
# taken for all four; without --version it compiles.
# Output seen:
#   taken for: ndk cpp java rust
#   without a version: compiles
#   version 3: ... IThing::version(int32_t*)' conflicts with a previous declaration
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
"$root/tests/tools/aidl_compiler.sh" "$work/compiler" sid >/dev/null
"$root/vm/suite.sh" sid cache show aidl | grep -qx 'Version: 1:14.0.0+r75-1'
cd "$work"
mkdir -p d include/android
echo 'package d; interface IThing { int version(); }' >d/IThing.aidl
# What a class of the NDK's interfaces is made of.
cat >include/android/binder_interface_utils.h <<'HEADER'
#include <cstdint>
struct AIBinder;
struct AParcel;
using binder_status_t = int32_t;
enum { FIRST_CALL_TRANSACTION = 1 };
namespace ndk {
struct SpAIBinder {};
struct ScopedAStatus {};
struct ICInterface {
	virtual ~ICInterface() = default;
	virtual SpAIBinder asBinder() = 0;
	virtual bool isRemote() = 0;
};
}
HEADER

write() { compiler/aidl --lang="$1" --structured "${@:2}" -I . d/IThing.aidl; }
compile() {
	g++ -std=c++17 -fsyntax-only -I include -I "$1" -include aidl/d/IThing.h -xc++ /dev/null
}

write ndk --version=3 -o 3 -h 3
write cpp --version=3 -o cpp -h cpp
write java --version=3 -o java
write rust --version=3 -o rust
for other in cpp java rust; do
	grep -qr 'VERSION.* = 3;' "$other"
done
echo "taken for: ndk cpp java rust"
write ndk -o none -h none
compile none
echo "without a version: compiles"
if compile 3 2>messages; then
	echo "changed: it compiles"
	exit 1
fi
echo "version 3: $(grep -m1 'error:' messages)"
grep -q 'static inline const int32_t version = 3;' 3/aidl/d/IThing.h
grep -q "version.*conflicts with a previous declaration" messages
