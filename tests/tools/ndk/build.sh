#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# build.sh PROGRAM LIBRARY AIDL: compiles what the .aidl compiler writes for hard-peer or old-peer,
# with its source here, into PROGRAM, under AddressSanitizer. To save time, all is one source.
set -eu
program=$(realpath -m "$1") library=$(realpath "$2") aidl=$(realpath "$3")
name=${1##*/}
out=$program.generated
cd "$(dirname "$0")"
rm -rf "$out"
write="$aidl --lang=ndk --structured --transaction_names -I aidl -o $out -h $out"

case $name in
hard-peer)
	$write --min_sdk_version=34 $(find aidl/hard -name '*.aidl' ! -name 'IStable*' | sort)
	$write --stability=vintf --version=3 --hash=abcdef --log aidl/hard/IStable.aidl
	;;
old-peer) $write --version 2 aidl/old/*.aidl ;;
esac
for source in "$PWD/$(echo "$name" | tr - _).cpp" "$out"/*/*.cpp; do
	echo "#include \"$source\""
done >"$out/all.cpp"
# What the compiler writes ends a function without a return, and has pragmas of clang.
g++ -std=c++17 -O0 -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-return-type \
	-fsanitize=address -DBINDER_STABILITY_SUPPORT -I ../../../tools/ndk/include -I "$out" \
	"$out/all.cpp" -o "$program" \
	-L "${library%/*}" -lbinder_ndk "-Wl,-rpath,${library%/*}" -pthread
