#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the module that reports each basic block, and the one that it reports to, for Debian's 6.12.
#
#   tests/kernel/syzkaller/covered.sh DIR [BUG]
#
# Leaves them in DIR and build/syzkaller/kcov; with BUG, one of those of sim/mutants.py,
# the first one has it. Prints how many basic blocks that one has.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
kernel=6.12
out=$top/build/syzkaller
covered=$1 bug=${2:-}

mkdir -p "$out/kcov"
cp "$here"/kcov/* "$out/kcov/"
"$top/vm/kbuild.sh" $kernel "$out/kcov" W=1 >"$out/covered.log"
[ -z "$bug" ] || rm -rf "$covered"
"$top/host/linux/link-sources.sh" "$covered"
[ -z "$bug" ] || "$top/tests/engine/sim/mutants.py" --plant "$bug" "$covered"
"$top/vm/kbuild.sh" $kernel "$covered" KCFLAGS="-fsanitize-coverage=trace-pc ${bug:+-w}" \
	KBUILD_EXTRA_SYMBOLS="$out/kcov/Module.symvers" >>"$out/covered.log"
strip -g "$covered/anybinder.ko" # twelve megabytes that the guest would read
echo "basic blocks: $(objdump -dr "$covered/anybinder.ko" | grep -c __sanitizer_cov_trace_pc)"
