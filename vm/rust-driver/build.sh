#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build mainline's Rust driver as a module of Debian's newest kernel, so that it can be compared
# with the C driver and this project's module on one and the same kernel.
#
# Debian builds that kernel with Rust, and it exports the symbols of its Rust libraries, but the
# headers package lacks what rustc needs to compile against them (*.rmeta, the procedural macros).
# So these are built here, from the same source, configuration and compilers: symbol names contain
# a hash of the compiler's version and nothing that differs from build to build. The generated
# bindings include the headers of the Rust driver only where it is configured, hence the one changed
# line. The driver itself is configured as built in or not at all; it is a module in all else.
#
#   vm/rust-driver/build.sh       needs root: compilers are those of the suite (vm/root.sh)
#
# Leaves build/vm/rust-driver/newest/rust_binder.ko. Five minutes on two cores, once; the source is
# removed afterwards. An interrupted build continues.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
vm=$(realpath "$top/build/vm")
dir=$vm/rust-driver
tree=$dir/tree
driver=$dir/driver
log=$dir/build.log
# pahole: without it the configuration would have no Rust.
tools="bc, flex, bison, libelf-dev, libssl-dev, libc6-dev, cpio, perl, python3, clang,
	libclang-dev, rustc, rust-src, bindgen, pahole"

say() { echo "vm/rust-driver/build.sh: $*"; }
die() { say "$*" >&2; exit 1; }

# Only what `make prepare`, the Rust libraries and the driver are made of.
unpack() {
	rm -rf "$tree"
	"$top/vm/source.sh" newest "$tree" --exclude='*/drivers/[b-z]*.c' --exclude='*/sound/*.c' \
		--exclude='*/drivers/gpu/drm/amd/*.h' --exclude='*/Documentation/*.rst'
	sed -i 's/^#if IS_ENABLED(CONFIG_ANDROID_BINDER_IPC_RUST)$/#if 1/' \
		"$tree/rust/bindings/bindings_helper.h"
	grep -qx '#if 1' "$tree/rust/bindings/bindings_helper.h" ||
		die "rust/bindings/bindings_helper.h of $release no longer asks for the Rust driver"
}

# make in the root of the suite, with the compiler and the release of Debian's build
make_in_root() {
	if ! "$top/vm/root.sh" "$suite" run nice make --no-print-directory -C "$tree" \
		-j"$(nproc)" CC="$compiler" KERNELRELEASE="$release" "$@" >> "$log" 2>&1; then
		tail -20 "$log" >&2
		die "see $log"
	fi
}

# Versions of the compilers, in a configuration.
versions() {
	local names='(GCC|RUSTC|RUSTC_LLVM)_VERSION|BINDGEN_VERSION_TEXT|RUST'

	grep -E "^CONFIG_($names)=" "$1"
}

configure() {
	cp "$vm/newest/config" "$tree/.config"
	make_in_root olddefconfig
	diff <(versions "$vm/newest/config") <(versions "$tree/.config") >&2 ||
		die "$suite has other compilers than those that $release was built with"
}

build_driver() {
	rm -rf "$driver"
	cp -r "$tree/drivers/android/binder" "$driver"
	cat > "$driver/Makefile" <<-'END'
		obj-m := rust_binder.o
		rust_binder-y := rust_binder_main.o rust_binderfs.o rust_binder_events.o
		ccflags-y := -I$(src) -DCONFIG_ANDROID_BINDER_DEVICES='"binder"'
	END
	# Without the checksums of the kernel's exports the module would not be loaded.
	cp "$vm/newest/headers/build/Module.symvers" "$tree/"
	make_in_root M="$driver" CONFIG_DEBUG_INFO_BTF_MODULES= modules
	mkdir -p "$dir/newest"
	cp "$driver/rust_binder.ko" "$dir/newest/"
}

"$top/vm/fetch" --headers newest
release=$(cat "$vm/newest/release")
suite=$(sed 's/-backports$//' "$vm/newest/suite")
if [ "$(cat "$dir/newest/release" 2>/dev/null)" = "$release" ]; then
	exit 0
fi
mkdir -p "$dir"
: > "$log"
compiler=$(sed -nE 's/^CC = .*(gcc-[0-9]+)$/\1/p' "$vm/newest/headers/build/.kernelvariables")
"$top/vm/root.sh" "$suite" create bindgen "$compiler, $tools"
if [ "$(cat "$dir/unpacked" 2>/dev/null)" != "$release" ]; then
	unpack
	echo "$release" > "$dir/unpacked"
fi
configure
say "building the kernel's Rust libraries and the driver"
make_in_root prepare modules_prepare
build_driver
echo "$release" > "$dir/newest/release"
rm -rf "$tree" "$driver" "$dir/unpacked"
