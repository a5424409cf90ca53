#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debian-root make SUITE DIR   makes DIR a bare Debian root: debootstrap's minimal system, with the
#                              suite's package sources and the certificates of this machine
# debian-root enter DIR CMD... runs CMD in DIR as in a container: own mounts, /proc, /sys, /dev/fuse
# debian-root chroot DIR CMD.. runs CMD in DIR by a plain chroot, where / is no mount point; /proc
#                              is mounted meanwhile
# debian-root container DIR CMD...
#                              runs CMD in DIR by podman, with all capabilities and /dev/fuse
# debian-root boot DIR         boots DIR's systemd in namespaces of its own, and does not return
# debian-root in DIR CMD...    runs CMD in a DIR that was booted
# debian-root remove DIR       removes it
#
# Needs root. The bases are kept in build/roots.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
environment=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
	LANG=C TERM=dumb CI=true)

make_base() { # SUITE DIR
	local new=$2.new
	command -v debootstrap >/dev/null || "$top/scripts/setup" package-test
	rm -rf "$new"
	mkdir -p "${new%/*}"
	# debootstrap of an older Debian does not know the suites after it; sid's script fits them.
	local script=/usr/share/debootstrap/scripts/$1
	[ -e "$script" ] || script=${script%/*}/sid
	# It mounts /proc there: in a namespace of its own, so that nothing stays mounted.
	python3 "$top/python/anybinder/process.py" debootstrap --variant=minbase "$1" "$new" \
		"$("$top/vm/suite.sh" "$1" mirror)" "$script" >"$new.log" 2>&1 ||
		{ tail "$new.log" >&2; return 1; }
	"$top/vm/suite.sh" "$1" sources >"$new/etc/apt/sources.list"
	# A root user's apt may not change its user inside a user namespace.
	echo 'APT::Sandbox::User "root";' >"$new/etc/apt/apt.conf.d/99sandbox"
	rm -f "$new"/var/cache/apt/archives/*.deb
	mv "$new" "$2"
}

# What this machine needs to reach a mirror: apt's settings and certificates of its own.
copy_settings() { # DIR
	apt-config dump | grep '^Acquire::' >"$1/etc/apt/apt.conf.d/98machine" || true
	if [ -n "$(ls /usr/local/share/ca-certificates 2>/dev/null)" ]; then
		mkdir -p "$1/usr/local/share/ca-certificates"
		cp -r /usr/local/share/ca-certificates/. "$1/usr/local/share/ca-certificates/"
	fi
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
}

make_root() { # SUITE DIR
	local base=$top/build/roots/$1
	[ -d "$base" ] || make_base "$1" "$base"
	mkdir -p "$2"
	cp -a "$base/." "$2/"
	copy_settings "$2"
	mknod -m 666 "$2/dev/fuse" c 10 229
}

# Runs in mount and pid namespaces of its own, as process 1 of the latter.
enter() { # DIR CMD...
	local dir=$1
	shift
	mount --bind "$dir" "$dir"
	cd "$dir"
	mount -t proc proc proc
	mount -t sysfs sys sys
	mount -t tmpfs -o mode=1777 tmp dev/shm
	mkdir -p dev/pts
	mount -t devpts -o newinstance,ptmxmode=666 pts dev/pts
	ln -sf pts/ptmx dev/ptmx
	mount -t tmpfs -o mode=755 run run
	mkdir -p .old
	# Not in a plain chroot, where / is no mount point.
	if ! pivot_root . .old 2>/dev/null; then
		rmdir .old
		exec chroot . "${environment[@]}" "$@"
	fi
	cd /
	umount --lazy /.old
	rmdir /.old
	exec "${environment[@]}" "$@"
}

# As enter, with what systemd wants to find. Where /dev is no mount point, systemd mounts a devtmpfs
# there, which is the host's /dev.
boot() { # DIR
	local dir=$1
	mount --bind "$dir" "$dir"
	cd "$dir"
	mount --bind dev dev
	mount -t proc proc proc
	mount -t sysfs sys sys
	mount -t cgroup2 cgroup sys/fs/cgroup
	mount -t tmpfs -o mode=755 run run
	mount -t tmpfs tmp tmp
	mkdir -p .old
	pivot_root . .old
	cd /
	umount --lazy /.old
	rmdir /.old
	exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --log-target=console --show-status=0
}

# The process 1 of a booted DIR: the child of the process whose pid boot wrote down.
in_booted() { # DIR CMD...
	local dir=$1 starter pid
	shift
	starter=$(cat "$dir.pid")
	# The list has no newline at its end, which read takes for an error.
	read -r pid _ <"/proc/$starter/task/$starter/children" || [ -n "$pid" ]
	nsenter --target "$pid" --mount --pid --ipc --uts --cgroup "${environment[@]}" "$@"
}

plain_chroot() { # DIR CMD...
	local dir=$1 status=0
	shift
	mount -t proc proc "$dir/proc"
	chroot "$dir" "${environment[@]}" "$@" || status=$?
	umount "$dir/proc"
	return $status
}

# podman refuses a machine that has control groups of both versions.
in_container() { # DIR CMD...
	local dir=$1
	shift
	umount -R /sys/fs/cgroup 2>/dev/null || true
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	exec podman run --rm --privileged --network=host --cgroups=disabled \
		--ulimit nofile=16384:16384 --ulimit nproc=16384:16384 --unsetenv-all \
		--env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		--env HOME=/root --env LANG=C --env TERM=dumb --env CI=true \
		--rootfs "$dir" "$@"
}

action=${1-} dir=${2-}
case $action in
make) make_root "$2" "$3" ;;
enter)
	exec python3 "$top/python/anybinder/process.py" unshare --pid --fork --kill-child \
		"$0" enter-here "$dir" "${@:3}"
	;;
boot)
	echo $$ >"$dir.pid"
	exec unshare --mount --pid --ipc --uts --cgroup --fork --kill-child \
		--propagation private "$0" boot-here "$dir"
	;;
boot-here) boot "$dir" ;;
in) in_booted "$dir" "${@:3}" ;;
enter-here) enter "$dir" "${@:3}" ;;
chroot) plain_chroot "$dir" "${@:3}" ;;
container) exec python3 "$top/python/anybinder/process.py" "$0" container-here "$dir" "${@:3}" ;;
container-here) in_container "$dir" "${@:3}" ;;
remove)
	mountpoint -q "$dir/proc" && umount "$dir/proc"
	rm -rf --one-file-system "$dir" "$dir.pid"
	;;
*)
	sed -n '/^# debian-root/,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
