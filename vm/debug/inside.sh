#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The run on a debug kernel, inside the guest: `vm/debug/inside.sh MODULE.ko PROGRAMS [OPTION...]`,
# with options of anybinder-conformance. vm/run has loaded the module and mounted its binderfs. It
# also finds faults logged by the kernel on the console, and then fails the run.
#
#   1. the conformance suite, scripts of the differential run, storms
#   2. with fault injection, vm/debug/fail_nth: everything that can fail fails once
#   3. the module is unloaded, loaded, used and unloaded again, and so is its measuring build with
#      all calls under one mutex and preemption disabled
#   4. after each unload there must be no leak
#   5. with KCSAN, no data race in the module; it sees no leaks
set -uo pipefail

module=$1 bin=$2
shift 2
leaks=/sys/kernel/debug/kmemleak
kcsan=/sys/kernel/debug/kcsan
# Freed memory passes an RCU grace period; kmemleak only reports objects older than 5 s.
GRACE_S=7
TEST_TIMEOUT_S=300
SEEDS=${VM_DEBUG_SEEDS:-50}
KILLS=${VM_DEBUG_KILLS:-60}
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../../tests/lib/tap.sh"
# What the module lacks, as conformance/run_backend.py passes it. A kernel that is built
# here exports as little as Debian's 5.10.
backend=module
grep -q '__ksymtab_sched_setattr_nocheck$' /proc/kallsyms || backend+=-5.10
mapfile -t caps < <(sed -nE "s/^(\w+) (\S+,)?$backend(,\S+)? (.*)/--cap=\1=\4/p" \
	"$(dirname "$0")/../../tests/drivers/conformance/missing_capabilities.txt")

# Unreferenced memory. Scanned twice, because objects in transit are missed the first time.
unreferenced() {
	echo scan > $leaks && echo scan > $leaks
	cat $leaks
}

# The number of objects allocated by init code of modules, which never has a symbol name.
from_load() {
	awk 'BEGIN { RS = "" } / 0xffffffffc/ && /do_one_initcall/ { n += $1 }
		END { print n + 0 }' \
		/sys/kernel/debug/slab/*/alloc_traces
}

# Allocations by code without a symbol name, because its module is unloaded, in the traces of
# slub_debug=U and in /proc/vmallocinfo; and an increase of those by init code since the module was
# unloaded the first time.
orphans() {
	local now
	awk 'BEGIN { RS = "" } / 0xffffffffc/ && !/do_one_initcall/' \
		/sys/kernel/debug/slab/*/alloc_traces
	grep ' 0xffffffffc' /proc/vmallocinfo
	now=$(from_load)
	[ "$now" -le "${from_load_before:-$now}" ] ||
		echo "allocated by init code: $now objects are left, $from_load_before before"
}

# Without kmemleak, leaks are only detected after the module has been unloaded.
scan() { # WHAT IS-LOADED?
	local found
	[ ! -e $kcsan ] || return
	[ -e $leaks ] || [ "$2" = no ] || return
	sleep $GRACE_S
	if [ -e $leaks ]; then
		found=$(unreferenced)
	else
		found=$(orphans)
		from_load_before=${from_load_before:-$(from_load)}
	fi
	[ -z "$found" ] || echo "$found"
	[ -z "$found" ]
	tap_case $? "no leak: $1"
}

# Reports of KCSAN in which either function is one of the module; the others, which are counted, are
# of the kernel's own code, also where the module called it.
races() {
	dmesg | awk '
		/BUG: KCSAN: / { ours = /\[anybinder\]/; n[ours]++ }
		ours { print }
		/Reported by Kernel Concurrency Sanitizer/ { ours = 0 }
		END { printf "KCSAN: %d reports of the module, %d of the kernel alone\n", n[1], n[0]
			exit (n[1] > 0) }'
}

suite() { # WHAT OPTION...
	local what=$1
	shift
	"$bin/anybinder-conformance" --timeout $TEST_TIMEOUT_S "${caps[@]}" "$@" | tap_comment
	tap_case $? "conformance: $what"
}

storm() { # WHAT
	"$bin/anybinder-storm" --kills "$KILLS" | tap_comment
	tap_case $? "storm: $1"
}

load() { # WHICH PARAMETER...
	local which=$1
	shift
	insmod "$module" "$@" && mount -t binder -o stats=global binder /dev/binderfs
	tap_case $? "load, $which time"
}

unload() { # WHICH
	umount /dev/binderfs && rmmod "$(basename "$module" .ko)"
	tap_case $? "unload, $1 time"
	scan "after unloading, $1 time" no
}

# Ignore what was allocated during the boot.
if [ -e $leaks ]; then
	echo clear > $leaks
elif [ ! -e $kcsan ]; then
	grep -q "\[$(basename "$module" .ko)\]" /sys/kernel/debug/slab/*/alloc_traces
fi
tap_case $? "leaks can be detected"

suite whole "$@"
"$bin/anybinder-differential" --seeds "$SEEDS" --out "$(mktemp -d)" > /dev/null
tap_case $? "scripts of the differential run"
storm "all locks"
if [ -e /proc/self/fail-nth ]; then
	"$bin/vm-fail-nth" /dev/binderfs/binder | tap_comment
	tap_case $? "fail_nth"
fi
scan "after use" yes
unload first
load second
suite "after loading again" --filter 'txn_*'
unload second
module=$(dirname "$module")-locking/anybinder.ko
load third locking=global-nopreempt
suite "under one mutex" --filter 'txn_*' --filter 'object_*'
storm "under one mutex"
unload third

if [ -e $kcsan ]; then
	races
	tap_case $? "no data race"
fi

tap_end
