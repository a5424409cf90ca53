#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Random programs of syzkaller on the module, in a virtual machine.
#
#   tests/kernel/syzkaller/run.sh CHECKOUT SECONDS BUG OPTION...     options of fuzz.go
#
# BUG is planted in the module, if it is not empty (./covered.sh).
# Leaves in build/syzkaller/result: programs (all, each before it ran), console, kept (those that
# reached something new), corpus (for ./play.c, those that reach the most in little space), stats.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
kernel=6.12
out=$top/build/syzkaller
checkout=$1 seconds=$2 bug=$3
shift 3
# What booting and checking may take on a machine with other work.
SPARE_S=1800
result=$out/result

"$here/build.sh" "$checkout"
covered=$out/covered${bug:+-planted}
"$here/covered.sh" "$covered" "$bug"
rm -rf "$result"
mkdir -p "$result/kept"
exec "$top/vm/run" --kernel $kernel --append slub_debug=FZP --memory 2048 --share "$result" \
	--log "$result/console" --timeout $((seconds + SPARE_S)) -- \
	"$here/inside.sh" "$result/stats" "$out/kcov/anybinder_kcov.ko" \
	"$covered/anybinder.ko" -- "$out/fuzz" -executor "$out/syz-executor" \
	-seeds "$here/seeds" -kept "$result/kept" -corpus "$result/corpus" \
	-log "$result/programs" -seconds "$seconds" "$@"
