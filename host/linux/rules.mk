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
MODULE_BUILD = vm/kbuild.sh $(KVER) $(abspath $(MODULE_DIR)) W=1 $(if $(V),V=$(V))
endif
MODULE_DIR := $(BUILD)/module/$(MODULE_NAME)$(if $(LOCKING),-locking)

# Those of `make vm-test`, and all. What only some turns load, their tests build.
MODULE_KVERS := 6.1 6.12 6.12-rt newest
MODULE_ALL_KVERS := $(shell awk '!/^\#/ { print $$1 }' vm/kernels.tsv)
VM_MODULES += $(MODULE_KVERS:%=module-%) module-locking-6.12

.PHONY: module $(MODULE_ALL_KVERS:%=module-%) $(MODULE_ALL_KVERS:%=module-locking-%)

## module: the kernel modules for one of vm/kernels.tsv (KVER=6.12) or for KDIR=HEADERS
# One build of a directory at a time. `make -n` runs the line with +, but not the one that makes the
# directory.
module:
	@host/linux/link-sources.sh $(abspath $(MODULE_DIR)) $(if $(LOCKING),bench/locking)
	+$(Q)test ! -d $(MODULE_DIR) || flock $(MODULE_DIR) $(MODULE_BUILD)

# The same for one of the kernels, for tests that need several.
$(MODULE_ALL_KVERS:%=module-%): module-%:
	@$(MAKE) --no-print-directory module KVER=$*

$(MODULE_ALL_KVERS:%=module-locking-%): module-locking-%:
	@$(MAKE) --no-print-directory module KVER=$* LOCKING=y
