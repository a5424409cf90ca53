# SPDX-License-Identifier: GPL-2.0
#
# make module KVER=6.12      for a kernel of vm-fetch, with more warnings
# make module KDIR=/lib/modules/RELEASE/build      for an installed kernel
# make module LOCKING=y      the measuring build, with locking modes and lock counts (docs/LOCKING.md)
#
# Builds build/module/NAME/anybinder.ko and anybinder_heap.ko, where NAME is KVER or the release of
# the kernel of KDIR; with LOCKING=y, NAME-locking.

KVER ?= 6.12
ifdef KDIR
MODULE_NAME := $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
# BTF would need another tool and is not used.
MODULE_BUILD = $(MAKE) --no-print-directory -C $(abspath $(KDIR)) M=$(abspath $(MODULE_DIR)) \
	CONFIG_DEBUG_INFO_BTF_MODULES= $(if $(V),V=$(V)) modules
else
MODULE_NAME := $(KVER)
MODULE_BUILD = vm/kbuild $(KVER) $(abspath $(MODULE_DIR)) W=1 $(if $(V),V=$(V))
endif
MODULE_DIR := $(BUILD)/module/$(MODULE_NAME)$(if $(LOCKING),-locking)

# Those of `make vm-test`, and all.
MODULE_KVERS := 6.1 6.12 6.12-rt newest
MODULE_ALL_KVERS := $(shell awk '!/^\#/ { print $$1 }' vm/kernels.tsv)
VM_TESTS += module:symbols module:sparse module:newer

.PHONY: module $(MODULE_ALL_KVERS:%=module-%) $(MODULE_ALL_KVERS:%=module-locking-%)

## module: the kernel modules for one of vm/kernels.tsv (KVER=6.12) or for KDIR=HEADERS
# One build of a directory at a time. `make -n` runs the line with +, but not the one that makes the
# directory.
module:
	@host/linux/link-sources $(abspath $(MODULE_DIR)) $(if $(LOCKING),bench/locking)
	+$(Q)test ! -d $(MODULE_DIR) || flock $(MODULE_DIR) $(MODULE_BUILD)

# The same for one of the kernels, for tests that need several.
$(MODULE_ALL_KVERS:%=module-%): module-%:
	@$(MAKE) --no-print-directory module KVER=$*

$(MODULE_ALL_KVERS:%=module-locking-%): module-locking-%:
	@$(MAKE) --no-print-directory module KVER=$* LOCKING=y

# No symbols that mainline does not export (host/linux/symbols, heap/symbols).
module.symbols.needs := $(MODULE_KVERS:%=module-%)
module.symbols.run = host/linux/check-symbols $(foreach kernel,$(MODULE_KVERS), \
	$(BUILD)/module/$(kernel)/anybinder.ko $(BUILD)/module/$(kernel)/anybinder_heap.ko)

# In a build directory of its own, so that every file is compiled and checked.
module.sparse.run = dir=$(abspath $(BUILD))/module/sparse; rm -rf $$dir; host/linux/link-sources $$dir; \
	log=$$(vm/kbuild 6.12 $$dir C=2 W=1 2>&1) || { echo "$$log"; exit 1; }; \
	found=$$(echo "$$log" | grep -E "$$dir.*(warning|error):"); echo "$$found"; \
	if [ -z "$$found" ]; then echo "module-sparse: 1 passed, 0 failed, 0 skipped"; \
	else echo "module-sparse: 0 passed, 1 failed, 0 skipped"; exit 1; fi

# Builds against headers changed as mainline and distributions changed them after 6.12.
module.newer.run = host/linux/compat/newer $(abspath $(BUILD)/vm/6.12/headers/build) \
	$(abspath $(BUILD))/module/newer
