#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A node of Kubernetes, in namespaces of its own: containerd, and on request a kubelet without an
# API server, which runs static pods. Needs root, and control groups of version 1.
#
#   node.sh build        build/roots/node, a Debian with containerd, runc and CNI
#   node.sh kubelet      build/kubelet/kubelet, from its Go modules
#   node.sh image FILE PROGRAM...
#                        makes FILE, the image anybinder:1.0.0: busybox, and programs of this
#                        machine with their libraries
#   node.sh run IMAGE [KUBELET]
#                        runs the node, with IMAGE in its store, until standard input ends. "ready"
#                        on standard output once containerd answers. A kubelet that ends is started
#                        again.
#
# Its mounts, processes and network end with it; its control groups are below one that is removed.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/containers
root=$top/build/roots/node
packages="containerd runc containernetworking-plugins busybox-static iproute2 procps"
version=1.37.2
# What a kubelet writes.
sysctls="vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops
	kernel/keys/root_maxkeys kernel/keys/root_maxbytes"

build() {
	[ ! -d "$root" ] || return 0
	rm -rf "$root.new"
	"$top/scripts/debian-root.sh" make forky "$root.new"
	"$top/scripts/debian-root.sh" enter "$root.new" sh -ec "apt-get -qq update
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			$packages"
	mv "$root.new" "$root"
}

build_kubelet() {
	local directory=$top/build/kubelet modules
	mkdir -p "$directory"
	cd "$directory"
	[ "$(cat version 2>/dev/null)" != $version ] || return 0
	export GOFLAGS="-mod=mod -buildvcs=false" GOWORK=off
	printf 'module kubelet\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n' $version >go.mod
	modules=$(go mod download -json "k8s.io/kubernetes@v$version" |
		sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
	# Kubernetes' own modules beside it are of the same age.
	sed -nE "s,^\s(k8s.io/[^ ]*) => \./staging.*,replace \1 => \1 v0.${version#1.},p" \
		"$modules" >>go.mod
	printf 'package kubelet\n\nimport _ "k8s.io/kubernetes/cmd/kubelet"\n' >kubelet.go
	nice -n 10 go build -p 2 -trimpath -o kubelet \
		-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version" \
		k8s.io/kubernetes/cmd/kubelet
	echo $version >version
}

make_image() { # FILE PROGRAM...
	local file=$1 image applet layer
	shift
	image=$(mktemp -d)
	mkdir -p "$image"/root/{bin,usr/bin,tmp,etc,run}
	chmod 1777 "$image/root/tmp"
	cp "$root/bin/busybox" "$@" "$image/root/usr/bin"
	for applet in sh sleep cat id ls touch kill test true; do
		ln -s ../usr/bin/busybox "$image/root/bin/$applet"
	done
	for layer in $(ldd "$@" | sed -nE 's,.*[[:space:]](/[^ ]+) \(.*,\1,p' | sort -u); do
		mkdir -p "$image/root${layer%/*}"
		cp -L "$layer" "$image/root$layer"
	done
	tar -C "$image/root" -cf "$image/layer.tar" .
	layer=$(sha256sum "$image/layer.tar")
	cat >"$image/config.json" <<-END
		{"architecture": "amd64", "os": "linux",
		 "config": {"Env": ["PATH=/usr/bin:/bin"], "Cmd": ["sleep", "infinity"]},
		 "rootfs": {"type": "layers", "diff_ids": ["sha256:${layer%% *}"]}}
	END
	cat >"$image/manifest.json" <<-END
		[{"Config": "config.json", "Layers": ["layer.tar"],
		  "RepoTags": ["anybinder:1.0.0"]}]
	END
	tar -C "$image" -cf "$file" manifest.json config.json layer.tar
	rm -rf "$image"
}

# Moves this process to control groups of the node.
enter_groups() {
	local group
	for group in /sys/fs/cgroup/*/; do
		[ -e "$group/cgroup.procs" ] || continue
		mkdir "$group/$name"
		for file in cpuset.cpus cpuset.mems; do
			[ ! -e "$group/$file" ] || cat "$group/$file" >"$group/$name/$file"
		done
		echo $BASHPID >"$group/$name/cgroup.procs"
	done
}

# Innermost first: a group with others in it is kept.
remove_groups() {
	local group tries
	for tries in 1 2 3 4 5; do
		for group in /sys/fs/cgroup/*/"$name"; do
			[ ! -d "$group" ] ||
				find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
		done
		[ -n "$(ls -d /sys/fs/cgroup/*/"$name" 2>/dev/null)" ] || return 0
		sleep 0.5
	done
	echo "node.sh: control groups $name are left" >&2
}

end() {
	{ kill -9 $! && wait $!; } 2>/dev/null || true
	remove_groups
}

mount_groups() {
	local group
	mount -t tmpfs -o mode=755 cgroup sys/fs/cgroup
	for group in $(sed -nE 's/.* - cgroup [^ ]* .*,([a-z]+)$/\1/p' /proc/self/mountinfo); do
		[ "$group" != systemd ] || continue
		mkdir "sys/fs/cgroup/$group"
		mount -t cgroup -o "$group" cgroup "sys/fs/cgroup/$group"
	done
}

# In mounts of its own, where files of its own are over the sysctls, which are the machine's. Its
# other mounts are the node's.
run_kubelet() { # SYSCTL...
	local file
	mount --make-private /proc
	for file; do
		mkdir -p "/run/sysctls/${file%/*}"
		cat "/proc/sys/$file" >"/run/sysctls/$file"
		mount --bind "/run/sysctls/$file" "/proc/sys/$file"
	done
	exec /run/kubelet --config=/etc/kubernetes/kubelet.yaml --hostname-override=node \
		--node-labels=anybinder.dev/node=true
}

# As process 1 of the node.
start() { # IMAGE [KUBELET]
	local directory file
	mount --bind "$root" "$root"
	cd "$root"
	mount -t proc proc proc
	mount -t sysfs -o ro sys sys
	mount_groups
	mount -t tmpfs -o mode=755 dev dev
	for file in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0" \
		"kmsg 1 11" "fuse 10 229"; do
		read -r file major minor <<<"$file"
		mknod -m 666 "dev/$file" c "$major" "$minor"
	done
	ln -s /proc/self/fd dev/fd
	mkdir -p dev/pts dev/shm dev/mqueue
	mount -t devpts -o newinstance,ptmxmode=666 pts dev/pts
	ln -s pts/ptmx dev/ptmx
	for directory in dev/shm run tmp var/lib/containerd var/lib/kubelet var/log \
		etc/cni etc/cdi etc/kubernetes; do
		mkdir -p "$directory"
		mount -t tmpfs -o mode=755 node "$directory"
	done
	mkdir -p etc/cni/net.d etc/containerd var/lib/kubelet/device-plugins run/anybinder-node \
		run/programs etc/kubernetes/manifests
	touch etc/hosts
	cp "$@" run/
	cp "$here/node/containerd.toml" etc/containerd/config.toml
	cp "$here/node/cni.conflist" etc/cni/net.d/
	cp "$here/node/kubelet.yaml" etc/kubernetes/
	ip link set lo up
	mkdir -p .old
	pivot_root . .old
	cd /
	umount --lazy /.old
	mount --make-rshared /
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin
	containerd >/var/log/containerd 2>&1 &
	until ctr version >/dev/null 2>&1; do
		kill -0 $! || { cat /var/log/containerd; exit 1; }
		sleep 0.2
	done
	ctr -n k8s.io images import "/run/${1##*/}" >/dev/null
	echo ready
	while [ $# -gt 1 ]; do
		unshare --mount --propagation unchanged bash -ec "$(declare -f run_kubelet)
			run_kubelet $(echo $sysctls)" >>/var/log/kubelet 2>&1 || true
		sleep 1
	done
	wait
}

case ${1-} in
build) build ;;
kubelet) build_kubelet ;;
image) make_image "${@:2}" ;;
run)
	name=anybinder-node-$$
	(
		enter_groups
		exec unshare --mount --pid --net --ipc --uts --cgroup --fork --kill-child \
			--propagation private "$0" start "${@:2}"
	) &
	trap end EXIT
	cat >/dev/null
	;;
start) start "${@:2}" ;;
*)
	sed -n '/^# A node/,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
