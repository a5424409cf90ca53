#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: off Android each union that aidl writes for the NDK has a function that ends without a
# return.
#
# Version: aidl 14.0.0+r75-1 of Debian's sid; g++ of any Debian.
#
# A union writes itself to a parcel by a switch over its tag, and ends with __assert2(), which on
# Android does not return. Elsewhere the generated header defines __assert2 itself.
# One would have guessed: who defines it for other systems has it end the process too, or the
# function return an error, as the one that reads the same union does (STATUS_BAD_VALUE).
# Behaviour: the definition is ((void)0), and writeToParcel(), which returns a status, has nothing
# behind it: g++ -Wall says so for every union, and a project with -Werror cannot compile it. A
# union without a value (a copy that threw) would run into whatever code comes next.
# Output seen:
#   #define __assert2(a,b,c,d) ((void)0)
#   d/Choice.cpp:49:1: error: control reaches end of non-void function [-Werror=return-type]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
"$root/tests/tools/aidl_compiler.sh" "$work/compiler" sid >/dev/null
"$root/vm/suite.sh" sid cache show aidl | grep -qx 'Version: 1:14.0.0+r75-1'
cd "$work"
mkdir -p d include/android
echo 'package d; union Choice { int number = 7; String text; }' >d/Choice.aidl
# What the class needs of the NDK's headers.
cat >include/android/stub.h <<'HEADER'
#pragma once
#include <cstdint>
#include <sstream>
#include <string>
struct AParcel;
using binder_status_t = int32_t;
enum { STATUS_OK = 0, STATUS_BAD_VALUE = -22 };
namespace android::internal { template <typename T> std::string ToString(const T &); }
namespace ndk {
enum parcelable_stability_t { STABILITY_LOCAL };
template <typename T> binder_status_t AParcel_writeData(AParcel *, const T &);
template <typename T> binder_status_t AParcel_readData(const AParcel *, T *);
namespace internal { template <typename T> constexpr inline int enum_values = 0; }
}
HEADER
for name in enums interface_utils parcelable_utils parcel_utils to_string; do
	echo '#include <android/stub.h>' >"include/android/binder_$name.h"
done
compiler/aidl --lang=ndk --structured -o . -h . -I . d/Choice.aidl
grep '#define __assert2' aidl/d/Choice.h
compile() { g++ -std=c++17 -c -o choice.o -Wno-unknown-pragmas "$@" -I include -I . d/Choice.cpp; }
compile 2>/dev/null
if compile -Wall -Werror 2>messages; then
	echo "changed: it compiles without a warning"
	exit 1
fi
grep 'error:' messages
[ "$(grep -c 'error:' messages)" = 1 ]
grep -q 'control reaches end of non-void function' messages
