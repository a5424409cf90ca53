#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: inside.sh STATS MODULE... -- COMMAND...: COMMAND, which runs programs on the last
# of the modules beside the peer; STATS is a file for what they have reached.
#
# vm/run fails if the kernel has logged a warning. Here fails a command (BC_*) never reached,
# a peer that has ended, and a module that cannot be unloaded.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
stats=$1
shift
# A mount of its own: each process of syz-executor mounts another binderfs on /dev/binderfs.
shared=/dev/fuzz
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

# names BC|BR: those of the ABI that the driver handles or returns, and counts.
names() {
	grep -oE "X\\($1_[A-Z_]+" "$top/core/common/abi_list.h" | cut -d'(' -f2 |
		grep -vxE 'BR_(ERROR|OK|NOOP|ACQUIRE_RESULT|ATTEMPT_ACQUIRE|FINISHED)'
}

# never BC|BR: those that the module's statistics have not seen. They count the peer's, too.
never() {
	local name
	for name in $(names "$1"); do
		grep -q "^$name: [1-9]" "$stats" || echo -n " $name"
	done
}

ip link set lo up
# Processes have the same number inside and outside, so that a program can freeze itself.
echo 0 >/proc/sys/user/max_pid_namespaces
while [ "$1" != -- ]; do
	insmod "$1" || exit
	module=$(basename "$1" .ko)
	shift
done
shift
mkdir $shared /dev/binderfs && mount -t binder -o stats=global binder $shared
exec 3< <(exec "$top/build/syzkaller/peer" $shared/binder $shared/hwbinder)
peer=$!
read -r <&3
cd "$(mktemp -d)" || exit
"$@"
tap_case $? "programs"
kill -0 $peer
tap_case $? "the peer lives"
sed '/^proc /,$d' $shared/binder_logs/stats >"$stats"
grep -E '^B[CR]_' "$stats"
echo "returns never seen:$(never BR)"
covered=/sys/kernel/debug/kcov-covered
[ ! -e $covered ] || echo "basic blocks covered, also by the peer: $(cat $covered)"
commands=$(never BC)
[ -z "$commands" ] || echo "commands never reached:$commands"
[ -z "$commands" ]
tap_case $? "each command is reached"
kill $peer
wait $peer 2>/dev/null
umount $shared && rmmod "$module"
tap_case $? "the module is unloaded"

tap_end
