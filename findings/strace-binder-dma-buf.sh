#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: a binder ioctl and an ioctl of DMA buffers have the same number, size and direction.
#
# Version: strace 6.1 of Debian 12, which has both kernel headers' numbers. Needs python3, ptrace.
#
# Numbers of ioctls carry a letter, a number, a size and a direction. Both binder and DMA buffers
# (as dma-heaps give them) chose the letter 'b'.
# One would have guessed: sizes or directions differ, so that a number names one operation, as it
# does for BINDER_WRITE_READ (the letter 'b' and 1, like DMA_BUF_SET_NAME).
# Behaviour: 0x40086203 is BINDER_SET_IDLE_TIMEOUT (8 bytes: an s64) and
# DMA_BUF_IOCTL_IMPORT_SYNC_FILE (8 bytes: flags and a file descriptor). What judges by number (a
# seccomp filter, SELinux' ioctl ranges, a decoder of logs) cannot tell which is meant.
# Output seen: ioctl(3, BINDER_SET_IDLE_TIMEOUT or DMA_BUF_IOCTL_IMPORT_SYNC_FILE, ...) = -1 ENOTTY
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
chmod 755 .
apt-get -qq download strace=6.1-0.1 2>apt-messages || { cat apt-messages >&2; exit 1; }
dpkg -x strace_*.deb .
cat >calls.py <<'PYTHON'
import fcntl
device = open("/dev/null", "rb")
for number in 0xc0306201, 0x40086203:
    try:
        fcntl.ioctl(device, number, bytearray(48))
    except OSError:
        pass
PYTHON
usr/bin/strace -o seen -e trace=ioctl python3 calls.py
grep BINDER seen
grep -q '(., BINDER_WRITE_READ, ' seen
grep -q '(., BINDER_SET_IDLE_TIMEOUT or DMA_BUF_IOCTL_IMPORT_SYNC_FILE, ' seen
