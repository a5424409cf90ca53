#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: in a user namespace crun takes a device by its path, whatever its numbers are.
#
# Version: crun 1.8.1 of Debian 12. Needs root, /dev/fuse.
#
# A container's config.json has for each device the path that it shall have in the container, and
# its type and numbers. (CDI's hostPath, where the device is on the host, is not in it any more.)
# One would have guessed: the numbers say which device it is. Where the kernel lets nobody make
# device files, as in rootless podman's namespace, crun takes the host's file with these numbers, or
# refuses.
# Behaviour: crun binds what the host has at the container's path. The numbers are not compared, and
# there is no message; with another name on the host the container does not start.
# Output seen (10:229 is fuse, 1:3 is null, with numbers in hexadecimal):
#   as root, /dev/fuse as 1:3: /dev/fuse 1:3
#   as root, /dev/demo as 1:3: /dev/demo 1:3
#   in a user namespace, /dev/fuse as 1:3: /dev/fuse a:e5
#   in a user namespace, /dev/demo as 1:3: mount `/dev/demo` to `/dev/demo`: No such file or
#     directory (in one line)
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
chmod 755 .
apt-get -qq download crun=1.8.1-1+deb12u1 libyajl2=2.1.0-3+deb12u2 libcap2 libseccomp2 \
	libsystemd0 busybox-static=1:1.35.0-4+deb12u1+b1 2>apt-messages ||
	{ cat apt-messages >&2; exit 1; }
for package in *.deb; do
	dpkg -x "$package" .
done
LD_LIBRARY_PATH=$(echo "$PWD"/usr/lib/*-gnu):$(echo "$PWD"/lib/*-gnu)
export LD_LIBRARY_PATH
mkdir -p rootfs/dev rootfs/proc
cp bin/busybox rootfs

# try WHO DEVICE UNSHARE-OPTIONS: a container with the device.
try()
{
	cat >config.json <<-JSON
	{
		"ociVersion": "1.0.0",
		"root": { "path": "rootfs" },
		"process": {
			"user": { "uid": 0, "gid": 0 },
			"cwd": "/",
			"args": ["/busybox", "stat", "-c", "%n %t:%T", "$2"]
		},
		"mounts": [
			{ "destination": "/proc", "type": "proc", "source": "proc" },
			{ "destination": "/dev", "type": "tmpfs", "source": "tmpfs" }
		],
		"linux": {
			"namespaces": [{ "type": "mount" }, { "type": "pid" }],
			"devices": [{ "path": "$2", "type": "c", "major": 1, "minor": 3 }]
		}
	}
	JSON
	echo "$1, $2 as 1:3: $(unshare $3 sh -c 'mount -t cgroup2 cgroup2 /sys/fs/cgroup
		exec usr/bin/crun --cgroup-manager=disabled --root state run finding' 2>&1)"
}

for device in /dev/fuse /dev/demo; do
	try 'as root' $device -mC
done >seen
for device in /dev/fuse /dev/demo; do
	try 'in a user namespace' $device -UrmC
done >>seen
cat seen
diff seen - <<'SEEN'
as root, /dev/fuse as 1:3: /dev/fuse 1:3
as root, /dev/demo as 1:3: /dev/demo 1:3
in a user namespace, /dev/fuse as 1:3: /dev/fuse a:e5
in a user namespace, /dev/demo as 1:3: mount `/dev/demo` to `/dev/demo`: No such file or directory
SEEN
