#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-bare [--in PLACE]... [SUITE]...: runs the two commands of README.md, as written there, in
# bare Debian roots (default: bookworm trixie) into which nothing but a copy of this tree was put. A
# PLACE is chroot, enter (a root of its own, in namespaces) or container (podman). Both commands run
# in each that is given; by default the first one in chroot and enter, the second one in enter.
# Needs root, the network, and half an hour for each suite and PLACE.
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
root_tool=$top/scripts/debian-root.sh
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
tap_logs=$top/build/bare

# The commands of the first indented block of README.md.
mapfile -t commands < <(awk '/^    / { sub(/ *#.*/, ""); sub(/^ */, ""); print; seen = 1; next }
	seen { exit }' "$top/README.md")

copy_tree() { # DIR
	mkdir -p "$1"
	(cd "$top" && git ls-files -z --cached --others --exclude-standard |
		xargs -0 ls -d 2>/dev/null | tar -c --files-from - | tar -x -C "$1")
}

# Sets used to the seconds of processor time that what this script ran has taken. On a busy machine
# that is more as well, where two processors are one core.
processor_time() {
	times >"$top/build/bare/times"
	used=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' \
		"$top/build/bare/times")
}

# Prints how long it took from nothing.
since() { # WHAT START USED
	processor_time
	echo "from nothing to the end of $1: $((SECONDS - $2)) s," \
		"$((used - $3)) s of processor time"
}

tutorial() { # DIR
	"$root_tool" enter "$1" sh -ec "apt-get -qq install -y --no-install-recommends \
		python3-pytest python3-pytest-timeout python3-pytest-xdist >/dev/null
		cd /anybinder
		exec /usr/bin/python3 -m pytest -q 'examples/test_pages.py::test_page[TUTORIAL.md]'"
}

# What `make` says without cargo, then the README's commands, then the demo for an ordinary user.
test_suite() {
	local suite=$1 place dir start before
	dir=$(mktemp -d "/var/tmp/anybinder-$suite-XXXXXX")
	# shellcheck disable=SC2064 # the present value
	trap "'$root_tool' remove '$dir'" EXIT
	chmod 755 "$dir"
	tap_command "$suite-root" "$root_tool" make "$suite" "$dir"
	copy_tree "$dir/anybinder"
	start=$SECONDS
	processor_time
	before=$used
	for place in "${demo_places[@]}"; do
		tap_command "$suite-demo-$place" "$root_tool" "$place" "$dir" \
			sh -c "cd /anybinder && ${commands[0]}"
		[ "$place" = "${demo_places[0]}" ] || continue
		since "the demo" "$start" "$before"
		tap_command "$suite-tutorial" tutorial "$dir"
		since "the tutorial" "$start" "$before"
	done
	tap_command "$suite-demo-user" "$root_tool" enter "$dir" setpriv --reuid 1000 --regid 1000 \
		--clear-groups env HOME=/tmp sh -c "cd /anybinder && build/bin/anybinder demo"
	tap_command "$suite-no-cargo" "$root_tool" enter "$dir" sh -c 'cd /anybinder &&
		mkdir /few && for name in make gcc sh bash awk sort head env dirname find mkdir; do
			ln -s "$(command -v "$name")" /few/; done
		rm build/bin/anybinder; PATH=/few HOME=/none make build/bin/anybinder 2>&1 |
			tee /dev/stderr | grep -q "install it with scripts/setup build"'
	for place in "${test_places[@]}"; do
		tap_command "$suite-test-$place" "$root_tool" "$place" "$dir" \
			sh -c "cd /anybinder && ${commands[1]}"
	done
	"$root_tool" remove "$dir"
	trap - EXIT
}

if [ "${#commands[@]}" -ne 2 ]; then
	echo "test-bare: README.md begins with ${#commands[@]} commands, want 2" >&2
	exit 1
fi
demo_places=(chroot enter) test_places=(enter) asked=()
while [ "${1-}" = --in ]; do
	case ${2-} in
	chroot | enter | container) asked+=("$2") ;;
	*)
		echo "test-bare: --in takes chroot, enter or container" >&2
		exit 2
		;;
	esac
	shift 2
done
[ "${#asked[@]}" -eq 0 ] || demo_places=("${asked[@]}") test_places=("${asked[@]}")
mkdir -p "$top/build/bare"
[ $# -gt 0 ] || set -- bookworm trixie
for suite; do
	test_suite "$suite"
done
tap_end
