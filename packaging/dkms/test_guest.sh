#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test_guest.sh ROOT: runs in the virtual machine; ROOT is a Debian root in which the package is
# installed. Uses the modprobe and configuration of that root, in the way Waydroid does.
set -eu

root=$1
conformance=$(cd "$(dirname "$0")/../.." && pwd)/build/bin/anybinder-conformance
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount --bind /dev "$root/dev"

use() { # device-dir
	"$conformance" --device-dir "$1" --filter txn_fields_arrive --filter fd_arrives
}

echo "at boot: the devices of modprobe.d"
chroot "$root" modprobe anybinder
[ "$(ls /dev/binder /dev/hwbinder /dev/vndbinder | wc -l)" -eq 3 ]
use /dev
grep -w binder /proc/filesystems
chroot "$root" modprobe -r anybinder

echo "Waydroid with no module loaded: its own devices, by the name of the C driver"
chroot "$root" modprobe binder_linux 'devices="anbox-binder,anbox-vndbinder,anbox-hwbinder"'
ls /dev/anbox-binder /dev/anbox-vndbinder /dev/anbox-hwbinder
[ ! -e /dev/binder ]
mkdir /dev/binderfs
mount -t binder binder /dev/binderfs
ls /dev/binderfs/binder-control /dev/binderfs/anbox-binder
umount /dev/binderfs
chroot "$root" modprobe -r anybinder

echo "mount loads the module"
echo /tmp/modprobe > /proc/sys/kernel/modprobe
printf '#!/bin/sh\nexec %s %s /sbin/modprobe "$@"\n' "$(command -v chroot)" "$root" > /tmp/modprobe
chmod +x /tmp/modprobe
mount -t binder binder /dev/binderfs
use /dev/binderfs

echo "the heaps"
chroot "$root" modprobe anybinder_heap
ls /dev/dma_heap/system /dev/dma_heap/system-uncached
chroot "$root" modprobe -r anybinder_heap
[ ! -e /dev/dma_heap/system-uncached ]
