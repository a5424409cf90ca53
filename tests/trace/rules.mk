# SPDX-License-Identifier: GPL-2.0
#
# `anybinder trace`.
#
#   live    over a daemon
#   ref     over the stock driver of Linux 6.1, in a virtual machine
#   module  over the kernel module
TESTS += trace:live
LONG_TESTS += trace:ref trace:module

trace.needs := $(BIN)/anybinder

trace.live.needs := $(BIN)/anybinderd
trace.live.run = timeout 300 tests/trace/live

trace.ref.run = vm/run --kernel 6.1 --driver ref --timeout 600 -- tests/trace/live /dev/binderfs

trace.module.needs := module-6.12
trace.module.run = vm/run --kernel 6.12 --driver module --timeout 600 -- tests/trace/live /dev/binderfs
