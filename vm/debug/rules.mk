# SPDX-License-Identifier: GPL-2.0
# The module on debug kernels; on request, not in CI.
#
#   vm-debug-stock  Debian's kernels with slab poisoning, red zones and tracking enabled
#   vm-debug        a kernel built here with KASAN, lockdep, kmemleak and fault injection. Building it
#                   takes ten minutes on two CPUs the first time.

VM_DEBUG_TIMEOUT_S ?= 5400
VM_DEBUG_KERNELS ?= 6.1 6.12
# Options of anybinder-conformance, e.g. --filter 'txn_*'
VM_DEBUG_OPTIONS ?=
# Number of differential scripts, and of processes killed by a storm
VM_DEBUG_SEEDS ?= 50
VM_DEBUG_KILLS ?= 60
VM_DEBUG_PROGRAMS := build/vm/init $(BIN)/vm-fail-nth $(addprefix $(BIN)/anybinder-,conformance differential storm)
VM_DEBUG_RUN = vm/run --driver module --memory 2048 --timeout $(VM_DEBUG_TIMEOUT_S) \
	--env VM_DEBUG_SEEDS=$(VM_DEBUG_SEEDS) --env VM_DEBUG_KILLS=$(VM_DEBUG_KILLS)

$(BIN)/vm-fail-nth: LDFLAGS += -static
$(BIN)/vm-fail-nth: $(OBJ)/vm/debug/fail_nth.o

.PHONY: vm-debug vm-debug-stock $(VM_DEBUG_KERNELS:%=vm-debug-stock-%)

## vm-debug: the module on a debug kernel, which is built if needed
vm-debug: $(VM_DEBUG_PROGRAMS)
	vm/debug/kernel
	$(Q)$(MAKE) --no-print-directory module KVER=debug
	$(Q)$(MAKE) --no-print-directory module KVER=debug LOCKING=y
	$(VM_DEBUG_RUN) --kernel debug --log build/vm/debug/console -- \
		vm/debug/inside build/module/debug/anybinder.ko $(BIN) $(VM_DEBUG_OPTIONS)

## vm-debug-stock: the module on Debian's kernels with their slab checks enabled
vm-debug-stock: $(VM_DEBUG_KERNELS:%=vm-debug-stock-%)

$(VM_DEBUG_KERNELS:%=vm-debug-stock-%): vm-debug-stock-%: $(VM_DEBUG_PROGRAMS)
	$(Q)$(MAKE) --no-print-directory module-$* module-locking-$*
	$(VM_DEBUG_RUN) --kernel $* --append "slub_debug=FZPU page_poison=1" -- \
		vm/debug/inside build/module/$*/anybinder.ko $(BIN) $(VM_DEBUG_OPTIONS)
