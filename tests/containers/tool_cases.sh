#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tool_cases.sh TOOL: containers made by TOOL use the daemon of this machine, one of their own, and
# each other
#   namespaces     unshare(1) and bind mounts: needs nothing but util-linux
#   bwrap podman docker lxc systemd-nspawn  as `anybinder container TOOL` says
#   rootless       podman of an ordinary user
#   cdi            podman, with the devices of a specification in /etc/cdi
#   lxc-mapped     lxc whose users are others on the host, as in unprivileged containers
#
# All but the first two run a bare Debian root (scripts/debian-root.sh); docker's daemon is started
# here, with a state of its own and no network. Needs root, except to say that it does.
set -uo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
bin=${ANYBINDER_BIN:-$top/build/bin}
tool=${1:?usage: tool_cases.sh TOOL}
name=anybinder.demo.IAddInts/default
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

[ "$(id -u)" -eq 0 ] || tap_skip "needs root"
case $tool in
namespaces) program=unshare ;;
lxc | lxc-mapped) program=lxc-execute ;;
rootless | cdi) program=podman ;;
docker) program=dockerd ;;
*) program=$tool ;;
esac
command -v "$program" >/dev/null || tap_skip "$program is missing"

# The runtimes of podman and docker refuse a machine that has both versions of control groups; and a
# hierarchy of version 2 alone, in a mount namespace, serves as well.
if [ -z "${IN_NAMESPACE:-}" ]; then
	IN_NAMESPACE=1 exec python3 "$top/python/anybinder/process.py" "$0" "$@"
fi
case $tool in
podman | rootless | cdi | docker)
	umount -R /sys/fs/cgroup 2>/dev/null
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || tap_skip "no control groups of version 2"
	;;
esac
case $tool in
podman | rootless | cdi)
	# runc wants controllers that version 1 may hold
	[ "$(podman info --format '{{.Host.OCIRuntime.Name}}')" = crun ] ||
		tap_skip "podman has no runtime crun"
	;;
esac

dir=$(mktemp -d)
chmod 755 "$dir"
user=anybinder-container
root=$top/build/roots/bookworm
image=anybinder-test
programs=$dir/bin
anybinder=("$bin/anybinder" --mount "$dir/mnt" --state-dir "$dir/state")
jobs=()

end() {
	local job
	for job in "${jobs[@]}"; do
		stop_container "$job"
		kill -KILL -- "-$job" 2>/dev/null
	done
	"${anybinder[@]}" down >/dev/null 2>&1
	if [ -n "${docker_pid:-}" ]; then
		kill "$docker_pid"
		wait "$docker_pid"
	fi
	if [ "$tool" = rootless ]; then
		as_user podman system migrate >/dev/null 2>&1
		userdel -r "$user" >/dev/null 2>&1
	fi
	[ -z "${made_cdi:-}" ] || { umount /etc/cdi && rmdir /etc/cdi; }
	rm -rf "$dir"
}
trap end EXIT

until_true() { # command...
	local i
	for ((i = 0; i < 300; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "not in 30 s: $*"
	return 1
}

# ---- how each tool runs a command ---------------------------------------------------------------

as_user() {
	setpriv --reuid "$user" --regid "$user" --init-groups env -C / HOME="/home/$user" \
		USER="$user" XDG_RUNTIME_DIR="$dir/runtime" PATH="$PATH" "$@"
}

podman_options=(--rm --network=none --cgroups=disabled --ulimit nofile=1024:1024
	--ulimit nproc=4096:4096)

arguments_for() { # kind
	local own=() kind
	[ "$1" = shared ] || own=(--own)
	[ "$tool:$1" != cdi:shared ] || { echo --device=anybinder.dev/binder=all; return; }
	case $tool in
	rootless | cdi) kind=podman ;;
	lxc-mapped) kind=lxc ;;
	*) kind=$tool ;;
	esac
	"${anybinder[@]}" container "$kind" "${own[@]}" 2>/dev/null
}

lxc_config() { # kind-of-arguments
	cat <<-END
		lxc.rootfs.path = dir:$root
		lxc.mount.auto = proc:mixed sys:ro
		lxc.autodev = 1
		lxc.mount.entry = $programs ab none bind,ro,create=dir 0 0
	END
	[ "$tool" = lxc ] || printf 'lxc.idmap = %s 0 100000 65536\n' u g
	# without control groups of version 2 there is nothing to allow
	arguments_for "$1" | grep -v devices.allow
}

in_namespaces() {
	unshare --pid --fork python3 "$top/python/anybinder/process.py" sh -c '
		mount -t proc proc /proc && mount -t tmpfs dev /mnt && touch /mnt/binder || exit 1
		mount --bind "$0" /mnt/binder && exec "$@"' "$dir/mnt/binder" "$@"
}

# The command finds the devices at $inside; the programs are in $ab. @kind: shared, or own.
in_container() { # kind command...
	local kind=$1 config
	local -a arguments
	shift
	read -ra arguments < <(arguments_for "$kind")
	case $tool in
	namespaces) in_namespaces "$@" ;;
	bwrap)
		bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /run --tmpfs /tmp \
			--unshare-pid --unshare-ipc --unshare-uts --die-with-parent \
			--ro-bind "$programs" /mnt \
			"${arguments[@]}" "$@"
		;;
	podman | cdi)
		podman run --name "ab-$BASHPID" "${podman_options[@]}" "${arguments[@]}" \
			--volume="$programs:/ab:ro" --rootfs "$root" "$@"
		;;
	rootless)
		as_user podman run --name "ab-$BASHPID" "${podman_options[@]}" \
			"${arguments[@]}" --volume="$programs:/ab:ro" --rootfs "$root" "$@"
		;;
	docker)
		docker run --rm --name "ab-$BASHPID" --network=none "${arguments[@]}" \
			--volume="$programs:/ab:ro" "$image" "$@"
		;;
	systemd-nspawn)
		# properties are those of a unit, which it has only where systemd runs
		systemd-nspawn --quiet --register=no --keep-unit --volatile=overlay \
			-M "ab-$BASHPID" -D "$root" "${arguments[@]/--property=*/--setenv=NONE=}" \
			--bind-ro="$programs:/ab" "$@"
		;;
	lxc | lxc-mapped)
		config=$dir/lxc.$BASHPID
		lxc_config "$kind" >"$config"
		lxc-execute -n "ab-$BASHPID" -P "$dir" -f "$config" -- "$@"
		;;
	esac
}

inside=/dev/binderfs
ab=/ab
case $tool in
namespaces)
	inside=/mnt
	ab=$dir/bin
	;;
bwrap) ab=/mnt ;;
esac

# What outlives the process that started it.
stop_container() { # job
	case $tool in
	podman | cdi) podman kill "ab-$1" ;;
	rootless) as_user podman kill "ab-$1" ;;
	docker) docker kill "ab-$1" ;;
	lxc | lxc-mapped) lxc-stop --kill -P "$dir" -n "ab-$1" ;;
	systemd-nspawn) kill -TERM -- "-$1" && sleep 1 ;;
	esac >/dev/null 2>&1
}

start() { # log command...
	local log=$1
	shift
	setsid bash -c "$(declare -f); $(declare -p tool top dir bin anybinder programs root user \
		image podman_options PATH); \"\$@\"" - "$@" >"$log" 2>&1 &
	jobs+=($!)
	disown
}

# ---- what is tested -----------------------------------------------------------------------------

is_listed() { "${anybinder[@]}" list | grep -q "$name"; }
is_not_listed() { ! is_listed; }

stop_job() {
	stop_container "${jobs[-1]}"
	kill -KILL -- "-${jobs[-1]}" 2>/dev/null
	unset 'jobs[-1]'
}

# Sums, a file each way, and the notice of the service's death, which the test causes.
client_steps='sleep 1000 & exec $0/anybinder --mount $1 demo-client --service-pid $! --calls 200'

all_steps() { # log
	local step
	for step in sums file-to-service file-from-service round-trip death; do
		grep -q "\"name\":\"$step\",\"ok\":true" "$1" || {
			echo "no step $step:"
			cat "$1"
			return 1
		}
	done
}

host_serves_container() {
	local log=$dir/client.log
	start "$dir/service.log" "${anybinder[@]}" demo-service
	until_true is_listed || return
	start "$log" in_container shared sh -c "$client_steps" "$ab" "$inside"
	until_true grep -q round-trip "$log" || { cat "$log"; return 1; }
	kill -KILL -- "-${jobs[-2]}"
	until_true grep -q '"death"' "$log"
	all_steps "$log"
}

container_serves_host() {
	start "$dir/service.log" in_container shared "$ab/anybinder" --mount "$inside" demo-service
	until_true is_listed || { cat "$dir/service.log"; return 1; }
	"${anybinder[@]}" call "$name" 1 i32 2 i32 3 || return
	"${anybinder[@]}" ping "$name" --count 50 || return
	stop_job
	until_true is_not_listed
}

container_serves_container() {
	local log=$dir/client.log
	start "$dir/service.log" in_container shared "$ab/anybinder" --mount "$inside" demo-service
	until_true is_listed || { cat "$dir/service.log"; return 1; }
	in_container shared "$ab/anybinder" --mount "$inside" ping "$name" --count 50 || return
	in_container shared "$ab/anybinder" --mount "$inside" call "$name" 1 i32 2 i32 3 || return
	stop_job
	until_true is_not_listed
}

# Needs this machine's programs in the container.
pids_are_the_callers() {
	local log=$dir/by_pid.log pid
	local -a script=(/usr/bin/python3 "$top/tests/containers/by_pid.py")
	local -a command=("${script[@]}" inside "$inside/binder")
	start "$log" in_container shared "${command[@]}"
	until_true grep -q ready "$log" || { cat "$log"; return 1; }
	pid=$(pgrep -f -x "${command[*]}") || return
	"${script[@]}" outside "$dir/mnt/binder" "$pid" || return
	stop_job
}

# Two daemons in containers: each sees its own service, not that of the other or of the host.
own_script='set -e; export XDG_RUNTIME_DIR=/tmp; a="$0/anybinder --mount /tmp/b --state-dir /tmp/s"
	$a up; $a list
	if [ "$1" = serve ]; then
		$a demo-service &
		while ! $a call "$2" 1 i32 2 i32 3; do sleep 0.2; done
	else ! $a ping "$2"; $a down; fi; echo "as expected"; [ "$1" != serve ] || sleep 1000'

own_daemons() {
	start "$dir/own.log" in_container own sh -c "$own_script" "$ab" serve "$name"
	until_true grep -q "as expected" "$dir/own.log" || { cat "$dir/own.log"; return 1; }
	in_container own sh -c "$own_script" "$ab" look "$name" >"$dir/look.log" 2>&1
	grep -q "as expected" "$dir/look.log" || { cat "$dir/look.log"; return 1; }
	is_not_listed || return
	stop_job
}

# Docker's daemon, with the root as its only image.
docker_up() {
	local state=$dir/docker
	mkdir "$state"
	export DOCKER_HOST=unix://$state/socket
	dockerd --host "$DOCKER_HOST" --data-root "$state/data" --exec-root "$state/exec" \
		--pidfile "$state/pid" --bridge=none --iptables=false --ip6tables=false \
		--oom-score-adjust=0 >"$state/log" 2>&1 &
	docker_pid=$!
	if until_true docker info && tar -C "$root" -c . | docker import - "$image" >/dev/null; then
		return
	fi
	tail "$state/log"
	return 1
}

mkdir "$programs"
cp "$bin/anybinder" "$bin/anybinderd" "$programs"
case $tool in
podman | rootless | cdi | docker | lxc | lxc-mapped | systemd-nspawn)
	[ -d "$root" ] || "$top/scripts/debian-root.sh" make bookworm "$root" || exit
	;;
esac
# A copy of the root for the users of a container, who cannot enter every directory of this tree.
give_root() { # USER
	cp -a "$root" "$dir/root"
	root=$dir/root
	chown -R "$1" "$root"
}
case $tool in
rootless)
	useradd -m -s /bin/sh "$user"
	mkdir "$dir/runtime"
	chown "$user:" "$dir/runtime"
	give_root "$user:"
	;;
lxc-mapped)
	give_root 100000:100000
	# in this mount namespace root may map those ids
	echo root:100000:65536 >"$dir/subid"
	mount --bind "$dir/subid" /etc/subuid && mount --bind "$dir/subid" /etc/subgid || exit
	;;
esac
[ "$tool" != docker ] || docker_up || tap_skip "dockerd does not run here"
"${anybinder[@]}" up --mode 0666 >"$dir/up.log" 2>&1 || {
	cat "$dir/up.log"
	tap_case 1 "the daemon starts"
	tap_end
}

# The directory is this mount namespace's own, but where it is missing it has to be made first.
if [ "$tool" = cdi ]; then
	[ -d /etc/cdi ] || { mkdir /etc/cdi && made_cdi=yes; }
	mount -t tmpfs cdi /etc/cdi || exit
	"${anybinder[@]}" container cdi >/etc/cdi/anybinder.yaml || exit
fi

tap_command "a service of the host serves a container" host_serves_container
tap_command "a service of a container serves the host" container_serves_host
tap_command "a service of a container serves another container" container_serves_container
case $tool in
namespaces | bwrap) tap_command "a pid is one of the caller's namespace" pids_are_the_callers ;;
esac
case $tool in
namespaces) ;;
*) tap_command "two containers with daemons of their own are apart" own_daemons ;;
esac
tap_end
