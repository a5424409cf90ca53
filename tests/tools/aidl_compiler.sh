#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# aidl_compiler.sh DIR SUITE: unpacks in DIR the .aidl compiler of a Debian suite, with the
# libraries that it needs, and makes DIR/aidl, which starts it, unless it is there. Nothing is
# installed.
set -euo pipefail

suite=$(cd "$(dirname "$0")/../../vm" && pwd)/suite.sh
dir=$(realpath -m "$1") from=$2 new=$dir.new
mkdir -p "$(dirname "$dir")"
exec 9>> "$dir.lock"
flock 9
[ ! -x "$dir/aidl" ] || exit 0

rm -rf "$dir" "$new"
mkdir -p "$new/debs/partial" "$new/usr/lib"
ln -s usr/lib "$new/lib"
: > "$new/debs/status" # nothing is installed: all dependencies are fetched
"$suite" "$from" update
"$suite" "$from" get -o "Dir::State::status=$new/debs/status" -o "Dir::Cache::archives=$new/debs" \
	install --download-only --yes --no-install-recommends aidl
for deb in "$new"/debs/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$new"
done
rm -rf "$new/debs" "$new/usr/share"
cat > "$new/aidl" <<'EOF'
#!/bin/sh
root=$(cd "$(dirname "$0")" && pwd)
libraries=$root/usr/lib/x86_64-linux-gnu
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries:$libraries/android" \
	"$root/usr/bin/aidl" "$@"
EOF
chmod +x "$new/aidl"
mv "$new" "$dir"
