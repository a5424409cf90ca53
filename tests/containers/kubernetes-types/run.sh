#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh: the manifests, the example and the device plugin in the words of Kubernetes' own Go types,
# which the module proxy has. Needs root, Go and the network.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit
bin=$PWD/build/bin
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh

command -v go >/dev/null || tap_skip "go is missing"
dir=$(mktemp -d)
trap '"$bin/anybinder" --mount "$dir/mount" --state-dir "$dir/state" down >/dev/null 2>&1
	rm -rf "$dir"' EXIT
(cd tests/containers/kubernetes-types && go build -o "$dir/types" .) || tap_skip "no modules"

# Each line that says ok is a case, and that the program has ended well.
each_of() { # NAME COMMAND...
	local name=$1 line
	shift
	"$@" >"$dir/output" 2>&1
	tap_case $? "$name" "$(grep -v '^ok ' "$dir/output")"
	while read -r line; do
		tap_case 0 "$name: $line"
	done < <(sed -n 's/^ok //p' "$dir/output")
}
"$bin/anybinder" container kubernetes --own >"$dir/own.yaml" 2>"$dir/notes"
each_of manifests "$dir/types" manifests "$dir/own.yaml" examples/kubernetes/pods.yaml
tap_command "the daemon starts" "$bin/anybinder" --mount "$dir/mount" --state-dir "$dir/state" up
mkdir "$dir/plugins"
each_of plugin "$dir/types" plugin "$dir/plugins" "$dir/mount" "$bin/anybinder-device-plugin"
tap_end
