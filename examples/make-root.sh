#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make-root DIR: a root of a Debian that has python3-gbinder, with the examples in it. Needs root
# and the network.
set -eu
root=$1
here=$(cd "$(dirname "$0")" && pwd)
tool=$here/../scripts/debian-root.sh

"$tool" make forky "$root"
"$tool" enter "$root" sh -ec 'apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		python3-gbinder python3-gi' >"$root.log" 2>&1 ||
	{ tail "$root.log" >&2; exit 1; }
rm "$root.log"
cp -r "$here" "$root/examples"
cp "$here/gbinder.conf" "$root/etc/gbinder.conf"
