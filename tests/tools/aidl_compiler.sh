#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# aidl_compiler.sh DIR: unpacks in DIR the .aidl compiler of Debian's sid, with the libraries that
# it needs, unless it is there. Nothing is installed.
set -euo pipefail

suite=$(cd "$(dirname "$0")/../../vm" && pwd)/suite.sh
dir=$1 new=$1.new
mkdir -p "$(dirname "$dir")"
exec 9>> "$dir.lock"
flock 9
[ ! -d "$dir" ] || exit 0

rm -rf "$new"
mkdir -p "$new/debs/partial" "$new/usr/lib"
ln -s usr/lib "$new/lib"
: > "$new/debs/status" # nothing is installed: all dependencies are fetched
"$suite" sid update
"$suite" sid get -o "Dir::State::status=$new/debs/status" -o "Dir::Cache::archives=$new/debs" \
	install --download-only --yes --no-install-recommends aidl
for deb in "$new"/debs/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$new"
done
rm -rf "$new/debs" "$new/usr/share"
mv "$new" "$dir"
