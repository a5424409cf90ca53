#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: `umount -f` of a busy FUSE mount fails with EBUSY, and has ended the mount's server.
#
# Version: Linux 6.18; bindfs 1.14.7 of Debian 12 as the server, umount 2.38. Needs root, /dev/fuse.
#
# umount(2) has MNT_FORCE abort the requests that wait, before it tries to unmount; if the file
# system is still in use, the call fails.
# One would have guessed: after EBUSY the requests that waited have failed, and whatever comes next
# is served as before; here none waits, so that nothing happens.
# Behaviour: the kernel ends the connection to the server before it looks for users. The mount
# stays, everything in it is ENOTCONN for all processes until it is unmounted, and the server reads
# ENODEV, as after a proper unmount: it exits with status 0, and no log has an error.
# Output seen:
#   umount: target is busy; the file: content
#   umount -f: target is busy; the file: Transport endpoint is not connected
#   still mounted, exit status of the server: 0
set -eu
export LC_ALL=C
work=$(mktemp -d)
user=
end()
{
	[ -z "$user" ] || kill $user
	umount -q -l "$work/mount" || true
	rm -r "$work"
}
trap end EXIT
cd "$work"
chmod 755 .
apt-get -qq download bindfs=1.14.7-1 libfuse2=2.9.9-6+b1 2>apt-messages ||
	{ cat apt-messages >&2; exit 1; }
for package in *.deb; do
	dpkg -x "$package" .
done
mkdir source mount
echo content >source/file
LD_LIBRARY_PATH=$(echo "$PWD"/lib/*-gnu) usr/bin/bindfs -f source mount &
server=$!
until mountpoint -q mount; do
	kill -0 $server
	sleep 0.1
done
(cd mount && exec sleep 1000) &
user=$!
until [ "$(readlink /proc/$user/cwd)" = "$PWD/mount" ]; do
	sleep 0.1
done

try()
{
	local answer content
	answer=$("$@" mount 2>&1) || true
	content=$(cat mount/file 2>&1) || true
	answer=${answer##*: }
	echo "$*: ${answer%.}; the file: ${content##*: }"
}

{
	try umount
	try umount -f
	mountpoint -q mount
	status=0
	wait $server || status=$?
	echo "still mounted, exit status of the server: $status"
} >seen
cat seen
diff seen - <<'SEEN'
umount: target is busy; the file: content
umount -f: target is busy; the file: Transport endpoint is not connected
still mounted, exit status of the server: 0
SEEN
