#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build a debug kernel: Debian's source of one of vm/kernels.tsv without the exports that Debian
# adds, with a set of checkers enabled. Takes about ten minutes on two cores, once.
#
#   vm/debug/kernel.sh CHECKERS/KERNEL       (kasan, kcsan or lockdep; 6.1, 6.12 or newest)
#
# Leaves in build/vm/CHECKERS/KERNEL the same files as vm/fetch (vmlinux, config, release,
# headers/build), except that vmlinux is a compressed image, which QEMU boots as well. It is rebuilt
# when the configuration, the list of exports or the source changes. The source is unpacked in
# build/vm/debug/KERNEL, once for all.
#
# The optional and forbidden symbols of host/linux/symbols are those that mainline does not export;
# on these kernels they are missing.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
name=$1
kernel=${name#*/}
out=$top/build/vm/$name
tree=$top/build/vm/debug/$kernel
objects=$out/headers/build
configs=("$here/config" "$here/${name%/*}")

die() { echo "vm/debug/kernel.sh: $*" >&2; exit 1; }

names() {
	awk '$1 == "never" || $1 == "optional" { print $2 }' "$top/host/linux/symbols" | sort -u
}

# Remove the exports of names() from the tree. Prints how many there were.
unexport() {
	local pattern files
	pattern="^EXPORT_SYMBOL(_GPL)?\\(($(names | paste -sd'|'))\\);"
	files=$(cd "$tree" && grep -rlE "$pattern" --include='*.c' fs ipc kernel mm security) ||
		die "no export to remove; check host/linux/symbols"
	(cd "$tree" && cat $files) | grep -cE "$pattern"
	(cd "$tree" && sed -Ei "/$pattern/d" $files)
}

# tinyconfig with the two files on top; every line of them must be in effect. What is to be off may
# also be unknown.
configure() {
	local line option missing=
	make -s -C "$tree" O="$objects" tinyconfig > /dev/null
	cat "${configs[@]}" >> "$objects/.config"
	make -s -C "$objects" olddefconfig 2> /dev/null
	while read -r line; do
		option=${line#\# }
		case $line in
		CONFIG_*) grep -qxF "$line" "$objects/.config" || missing+=" $line" ;;
		*) ! grep -q "^${option%% *}=" "$objects/.config" || missing+=" $line" ;;
		esac
	done < <(grep -hE '^(CONFIG_|# CONFIG_)' "${configs[@]}")
	[ -z "$missing" ] || die "not in effect after olddefconfig:$missing"
}

[ -e "${configs[1]}" ] || die "no checkers ${name%/*}"
"$top/vm/fetch" "$kernel"
source="$(cat "$top/build/vm/$kernel/release") $(names | cksum)"
wanted="$source $(cat "${configs[@]}" "$0" | cksum)"
if [ -e "$out/built" ] && [ "$(cat "$out/built")" = "$wanted" ]; then
	exit 0
fi
mkdir -p "$objects" "$out/modules" "$top/build/vm/debug"
# The source is that of several kernels.
exec 9>> "$tree.lock"
flock 9
rm -f "$out/built" "$out/release"
if [ ! -e "$tree.unpacked" ] || [ "$(cat "$tree.unpacked")" != "$source" ]; then
	rm -rf "$tree" "$tree.unpacked"
	"$top/vm/source.sh" "$kernel" "$tree"
	echo "vm/debug/kernel.sh: $(unexport) exports removed"
	echo "$source" > "$tree.unpacked"
fi
configure
echo "vm/debug/kernel.sh: building $name (about ten minutes on two cores)"
if ! nice make -C "$objects" -j"$(nproc)" bzImage modules > "$out/build.log" 2>&1; then
	tail -20 "$out/build.log" >&2
	die "see $out/build.log"
fi
cp "$objects/arch/x86/boot/bzImage" "$out/vmlinux"
cp "$objects/.config" "$out/config"
cat "$objects/include/config/kernel.release" > "$out/release"
echo "$wanted" > "$out/built"
