#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Debian's Rust compiler with the standard library of another architecture, unpacked: nothing is
# installed, and the compiler that is installed is not touched. Cargo uses it by
# RUSTC=build/vm/rust-ARCH/rustc.
#
#   vm/rust.sh ARCH     build/vm/rust-ARCH
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
vm=$(realpath "$(dirname "$here")/build/vm")
arch=$1
suite=bookworm
dir=$vm/rust-$arch

# The names that package $1 depends on and that match $2.
depends() {
	"$here/suite.sh" "$suite" cache depends "$1" |
		awk -v want="$2" '$1 == "Depends:" && $2 ~ want { print $2 }'
}

# The shared libraries have versions in their names.
packages() {
	local libstd
	libstd=$(depends libstd-rust-web-dev '^libstd-rust')
	echo rustc-web libstd-rust-web-dev "$libstd"
	depends "$libstd" '^libllvm'
}

# The compiler with its libraries.
write_wrapper() { # DIR
	cat > "$1/rustc" <<-'END'
		#!/bin/sh
		here=$(dirname "$(realpath "$0")")
		export LD_LIBRARY_PATH="$here/usr/lib/x86_64-linux-gnu"
		exec "$here/usr/bin/rustc" "$@"
	END
	chmod +x "$1/rustc"
}

create() {
	local new=$dir.new deb version
	echo "vm/rust.sh: unpacking Debian's Rust for $arch in build/vm"
	rm -rf "$new"
	mkdir -p "$new/debs"
	"$here/suite.sh" "$suite" update
	"$here/suite.sh" "$suite:$arch" update
	# shellcheck disable=SC2046 # several names
	(cd "$new/debs" && "$here/suite.sh" "$suite" get download $(packages))
	version=$(dpkg-deb -f "$new"/debs/rustc-web_*.deb Version)
	(cd "$new/debs" &&
		"$here/suite.sh" "$suite:$arch" get download "libstd-rust-web-dev=$version")
	for deb in "$new"/debs/*.deb; do
		dpkg-deb -x "$deb" "$new"
	done
	rm -rf "$new/debs"
	write_wrapper "$new"
	"$new/rustc" --version
	mv "$new" "$dir"
}

exec 9>> "$dir.lock"
flock 9
[ -d "$dir" ] || create
