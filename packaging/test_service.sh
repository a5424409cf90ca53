#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# test_service.sh SERVICE DAEMON: what the units run, beside a daemon that was started by hand.
# Needs a mount namespace of its own, where it makes a /dev.
set -eux
service=$1 daemon=$2

# The processes of the daemon that serves here, and of no other.
daemons() {
	for comm in $(grep -lx anybinderd /proc/[0-9]*/comm); do
		process=${comm%/comm}
		[ "$(readlink "$process/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ] ||
			echo "${process#/proc/}"
	done
}

# soon CMD...: tries for a minute.
soon() {
	n=0
	until "$@"; do
		n=$((n + 1))
		[ "$n" -lt 300 ] || return 1
		sleep 0.2
	done
}

is_clean() {
	"$service" clean-up
	! grep ' /dev/binderfs ' /proc/self/mountinfo && [ ! -L /dev/binder ]
}

mount -t tmpfs tmpfs /dev
mknod -m 666 /dev/fuse c 10 229
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/urandom c 1 9
mkdir /dev/binderfs
"$service" is-wanted
"$service" is-managed
(export ANDROID=yes; ! "$service" is-managed)
ANDROID=yes MANAGED_DEVICES=host "$service" is-managed
"$daemon" /dev/binderfs --devices binder
trap 'kill $(daemons)' EXIT
"$service" add-links
[ -e /dev/binder ]

"$service" is-wanted
status=0
said=$(GROUP='' "$service" daemon 2>&1) || status=$?
[ "$status" -eq 78 ]
echo "$said" | grep 'another daemon serves /dev/binderfs'
"$service" clean-up
[ -e /dev/binder ]

# shellcheck disable=SC2046 # several words
kill -KILL $(daemons)
trap - EXIT
soon is_clean

# Elsewhere, as on a node of a cluster: links are all that /dev has.
has_links() {
	"$service" add-links
	[ -e /dev/binder ] && [ -e /dev/binderfs/features ]
}
has_mounts() {
	grep ' /dev/.*anybinder' /proc/self/mountinfo
}
mount -t tmpfs tmpfs /run
export MOUNT=/run/node/binderfs GROUP='' DEVICES=binder
"$service" is-wanted
"$service" daemon &
trap 'kill $(daemons)' EXIT
soon has_links
[ "$(readlink /dev/binderfs)" = "$MOUNT" ]
has_mounts && exit 1
"${daemon%d}" status | grep "^$MOUNT: up"
{ "${daemon%d}" doctor || true; } | grep '^mount .*, and /dev/binderfs is a link to it'
# shellcheck disable=SC2046 # several words
kill $(daemons)
trap - EXIT
wait
"$service" clean-up
[ ! -L /dev/binder ] && [ ! -L /dev/binderfs ]
mkdir "$MOUNT/binder" || exit 0
exit 1
