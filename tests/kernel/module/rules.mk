# SPDX-License-Identifier: GPL-2.0
#
# The module beyond conformance; what is checked of the built files is in host/linux/rules.mk.
#
#   life     loading and unloading, binderfs_test of the kernel, stress-ng
#   events   tracepoints by the stock driver's names and with its fields
#   stages   what `anybinder bench stages` reports of the module
#   beside   the module and the stock driver in one kernel, each loaded first
#   accounting  memory is charged to the caller's control group
#   reclaim  idle buffer pages are given back, and are there again when wanted
MODULE_TESTS := tests/kernel/module
VM_TESTS += module:life module:events module:stages module:reclaim module:accounting module:beside

module.life.needs := $(BIN)/anybinder-conformance module-newest module-6.1 module-locking-newest \
	module-locking-6.1
module.life.run = $(MODULE_TESTS)/run newest 6.1

module.events.needs := $(BIN)/anybinder-conformance module-newest module-6.1
module.events.run = $(MODULE_TESTS)/events newest 6.1

module.stages.needs := $(BIN)/anybinder $(BIN)/bench-ipc module-6.12 module-6.1
module.stages.run = $(MODULE_TESTS)/stages 6.12 6.1

module.reclaim.needs := $(BIN)/anybinder-conformance $(BIN)/bench-ipc module-6.12
module.reclaim.run = vm/run --kernel 6.12 --driver module --timeout 600 -- $(MODULE_TESTS)/reclaim

module.accounting.needs := module-6.12
module.accounting.run = vm/run --kernel 6.12 --driver module --timeout 600 -- $(MODULE_TESTS)/accounting

module.beside.needs := $(BIN)/anybinder-conformance $(BIN)/anybinder module-6.1 module-6.12 \
	module-newest
module.beside.run = $(MODULE_TESTS)/beside 6.1:stock 6.12:stock 6.12:ref newest:ref
