# SPDX-License-Identifier: GPL-2.0
#
# Random programs of syzkaller, guided by the coverage of the module, on Debian's 6.12 with its slab
# checks; on request, not in CI: they want Go and a checkout of syzkaller.
SYZKALLER_DIR := tests/kernel/syzkaller
# A checkout of syzkaller
SYZKALLER ?=
SYZKALLER_SECONDS ?= 600
SYZKALLER_SEED ?= 1
# A bug of tests/engine/sim/mutants that is planted in the module
SYZKALLER_PLANT ?=
# Options of fuzz.go
SYZKALLER_OPTIONS ?=

LONG_TESTS += syzkaller:module

$(BUILD)/syzkaller/peer: LDFLAGS += -static
$(BUILD)/syzkaller/peer: $(OBJ)/$(SYZKALLER_DIR)/peer.o
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^

syzkaller.needs := $(BUILD)/syzkaller/peer
syzkaller.run = $(SYZKALLER_DIR)/run "$(SYZKALLER)" $(SYZKALLER_SECONDS) "$(SYZKALLER_PLANT)" \
	-seed $(SYZKALLER_SEED) $(SYZKALLER_OPTIONS)
