#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build syzkaller with the descriptions of this directory alone, from a copy of a checkout.
#
#   tests/kernel/syzkaller/build.sh CHECKOUT
#
# Leaves in build/syzkaller: fuzz (fuzz.go with syzkaller in it) and syz-executor, both static. Go's
# own client fetches the modules that syzkaller names, once.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$top/build/syzkaller
src=$out/src
checkout=${1:-}
# The version that this has been tried with.
tried=1e72964b0111319984575e60f266d1fa0a98abb5

die() { echo "syzkaller: $*" >&2; exit 1; }

[ -n "$checkout" ] || die "SYZKALLER=DIR is missing: a checkout of syzkaller, which is not part of \
this tree; it has been tried with commit $tried"
[ -e "$checkout/sys/linux/sys.txt" ] || die "$checkout is no checkout of syzkaller"
for program in go g++; do
	command -v "$program" >/dev/null || die "$program is missing. Nothing else needs it, so \
make setup does not install it; the version of Go that syzkaller's go.mod asks for: \
$(sed -n 's/^go //p' "$checkout/go.mod")"
done
version=$(git -C "$checkout" rev-parse HEAD 2>/dev/null) || version="an unknown commit"
[ "$version" = "$tried" ] || echo "syzkaller: $checkout is at $version; what this has been tried \
with is $tried. If it does not build, check that one out."

# The constants that descriptions.txt names.
constants() {
	grep -v '^#' "$here/descriptions.txt" | grep -oE '\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b' |
		sort -u | sed 's/.*/show("&", &);/'
}

# The calls' names and their numbers.
calls() {
	sed -nE 's/^([a-z0-9_]+)(\$[A-Za-z0-9_]+)?\(.*/\1/p' "$here/descriptions.txt" | sort -u |
		sed 's/.*/show("__NR_&", __NR_&);/'
}

numbers() {
	cat <<-END
		#include <stdio.h>
		#include <fcntl.h>
		#include <sys/epoll.h>
		#include <sys/mman.h>
		#include <sys/syscall.h>
		#include "tests/lib/uapi.h"
		#define show(name, value) printf("%s = %llu\n", name, (unsigned long long)(value))
		int main(void)
		{
		puts("arches = amd64");
	END
	constants
	calls
	echo "}"
}

if ! cmp -s <(echo "$version") "$out/copied"; then
	rm -rf "$src"
	mkdir -p "$src"
	tar -C "$checkout" --exclude=.git -c . | tar -C "$src" -x
	# No other system, and of Linux what its initialisation names. All would take minutes.
	find "$src/sys" -mindepth 2 -maxdepth 2 -name '*.txt' -delete
	for dir in "$src"/sys/*/; do
		[ ! -e "$dir/init.go" ] || echo "# Empty." >"$dir/none.txt"
	done
	rm -f "$src"/sys/linux/dev_binder*
	grep -rhoE 'GetConst\("[A-Z0-9_a-z]+"\)' "$src/sys/linux" "$src/sys/targets" |
		cut -d'"' -f2 | sort -u | paste -sd, | sed 's/^/_ = /' >"$src/sys/linux/none.txt"
	echo "$version" >"$out/copied"
fi
cp "$here/descriptions.txt" "$src/sys/linux/"
numbers >"$out/numbers.c"
gcc -D_GNU_SOURCE -I"$top" -w -o "$out/numbers" "$out/numbers.c"
"$out/numbers" >"$src/sys/linux/descriptions.txt.const"
mkdir -p "$src/tools/anybinder-fuzz"
cp "$here"/*.go "$src/tools/anybinder-fuzz/"
cd "$src"
export CGO_ENABLED=0
echo "syzkaller: compiling the descriptions"
go run ./sys/syz-sysgen || die "the descriptions do not compile"
echo "syzkaller: building"
go build -trimpath -ldflags="-s -w" -o "$out/fuzz" ./tools/anybinder-fuzz
g++ -o "$out/syz-executor" executor/executor.cc -O2 -pthread -w -std=c++17 -I. -Iexecutor/_include \
	-DGOOS_linux=1 -DGOARCH_amd64=1 -DHOSTGOOS_linux=1 -DGIT_REVISION='"unknown"'
