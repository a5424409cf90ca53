# SPDX-License-Identifier: GPL-2.0
#
# make module KVER=6.12      against the headers that vm-fetch brought
# make module KDIR=/lib/modules/RELEASE/build      against those of an installed kernel
#
# Leaves build/module/NAME/anybinder.ko, NAME being KVER or the release of KDIR's kernel. The kernel's
# own build decides what to compile anew.

KVER ?= 6.12
ifdef KDIR
MODULE_NAME := $(shell cat $(KDIR)/include/config/kernel.release)
MODULE_KDIR := $(KDIR)
else
MODULE_NAME := $(KVER)
MODULE_KDIR := $(BUILD)/vm/$(KVER)/headers/build
endif
MODULE_DIR := $(BUILD)/module/$(MODULE_NAME)
W ?= 1

.PHONY: module module-symbols

MODULE_KVERS := 6.1 6.12 6.12-rt
VM_TEST_TARGETS += module-symbols

# One build of a directory at a time. Type information (BTF) would need another tool and nothing here
# reads it.
module:
	@host/linux/farm $(abspath $(MODULE_DIR))
	$(Q)flock $(MODULE_DIR) $(MAKE) --no-print-directory -C $(abspath $(MODULE_KDIR)) \
		M=$(abspath $(MODULE_DIR)) W=$(W) $(if $(V),V=$(V)) CONFIG_DEBUG_INFO_BTF_MODULES= modules

# Needs nothing of a kernel that mainline does not export (host/linux/symbols).
module-symbols:
	@for kernel in $(MODULE_KVERS); do \
		$(MAKE) --no-print-directory module KVER=$$kernel || exit 1; done
	@host/linux/check-symbols $(MODULE_KVERS:%=$(BUILD)/module/%/anybinder.ko)
