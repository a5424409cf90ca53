# SPDX-License-Identifier: GPL-2.0
#
# The module beyond conformance; what is checked of the built files is in host/linux/rules.mk.
#
#   life     loading and unloading, binderfs_test of the kernel, stress-ng; life-6.1 on that kernel
#   events   tracepoints by the stock driver's names and with its fields
#   stages   what `anybinder bench stages` reports of the module
#   beside   the module and the stock driver in one kernel, each loaded first; beside-stock the same
#            with kernels whose package has a driver without binderfs
#   reclaim  idle buffer pages are given back, and are there again when wanted
MODULE_TESTS := tests/kernel/module
VM_TESTS += module:life module:events module:stages module:reclaim \
	$(addprefix module:,life-6.1 beside beside-stock)
TURNS += module:life,module:life-6.1 module:beside,module:beside-stock

module.life.needs := $(BIN)/anybinder-conformance module-newest module-locking-newest
module.life.run = $(MODULE_TESTS)/run newest
module.life-6.1.needs := $(BIN)/anybinder-conformance module-6.1 module-locking-6.1
module.life-6.1.run = $(MODULE_TESTS)/run 6.1

module.events.needs := $(BIN)/anybinder-conformance module-newest module-6.1
module.events.run = $(MODULE_TESTS)/events newest 6.1

module.stages.needs := $(BIN)/anybinder $(BIN)/bench-ipc module-6.12 module-6.1
module.stages.run = $(MODULE_TESTS)/stages 6.12 6.1

module.reclaim.needs := $(BIN)/anybinder-conformance $(BIN)/bench-ipc module-6.12
module.reclaim.run = vm/run --kernel 6.12 --driver module --timeout 600 -- $(MODULE_TESTS)/reclaim

module.beside.needs := $(BIN)/anybinder-conformance $(BIN)/anybinder module-6.12 module-newest
module.beside.run = $(MODULE_TESTS)/beside 6.12:ref newest:ref
module.beside-stock.needs := $(BIN)/anybinder-conformance $(BIN)/anybinder module-6.1 module-6.12
module.beside-stock.run = $(MODULE_TESTS)/beside 6.1:stock 6.12:stock
