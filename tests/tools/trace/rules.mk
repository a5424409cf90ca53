# SPDX-License-Identifier: GPL-2.0
#
# `anybinder trace`.
#
#   live        over a daemon
#   priorities  at which priority calls are made and served; priorities-module: in 6.12's module
#   perfetto    what --perfetto writes, read by Perfetto's own trace processor
#   module      over the kernel module of 6.12; module-6.1: of 6.1
#   ref         over the stock driver of 6.12
TESTS += trace:live trace:priorities trace:perfetto
VM_TESTS += trace:module trace:priorities-module trace:stock
LONG_TESTS += trace:ref trace:module-6.1
TURNS += trace:module,trace:stock,trace:ref,trace:module-6.1

trace.needs = $(BIN)/anybinder $(CLIENT_TESTS)

trace.live.needs := $(BIN)/anybinderd
trace.live.run = timeout 300 tests/tools/trace/live

trace.priorities.needs := $(BIN)/anybinderd
trace.priorities.run = timeout 600 tests/tools/trace/priorities

trace.perfetto.needs := $(BIN)/anybinderd
trace.perfetto.run = timeout 600 tests/tools/trace/perfetto

# One processor: each trace patches the code of the tracepoints, and QEMU may give another processor
# the breakpoint of a patch that is over.
TRACE_IN_VM = --smp 1 --timeout 600 -- tests/tools/trace/live /dev/binderfs

trace.module.needs := module-6.12
trace.module.run = vm/run --kernel 6.12 --driver module $(TRACE_IN_VM)

trace.priorities-module.needs := module-6.12
trace.priorities-module.run = vm/run --kernel 6.12 --driver module --smp 1 --timeout 600 -- \
	tests/tools/trace/priorities /dev/binderfs

trace.module-6.1.needs := module-6.1
trace.module-6.1.run = vm/run --kernel 6.1 --driver module $(TRACE_IN_VM)

# The service manager asks for security contexts.
trace.ref.run = vm/run --kernel 6.12 --driver ref --append security=selinux $(TRACE_IN_VM)

# The oldest kernel's own driver, without binderfs.
trace.stock.run = vm/run --kernel 6.1 --driver stock --append security=selinux --smp 1 \
	--timeout 600 -- tests/tools/trace/live /dev
