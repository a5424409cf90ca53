# SPDX-License-Identifier: GPL-2.0
#
# The conformance suite: one static program (it also runs in a bare virtual machine) and its back ends.

CONFORMANCE_DIR := tests/conformance
CONFORMANCE_SRC := $(wildcard $(CONFORMANCE_DIR)/*.c $(CONFORMANCE_DIR)/lib/*.c $(CONFORMANCE_DIR)/harness/*.c)
CONFORMANCE_OBJ := $(CONFORMANCE_SRC:%.c=$(OBJ)/%.o)

# Tests run in the order in which they are written.
$(CONFORMANCE_OBJ): CPPFLAGS += -I$(CONFORMANCE_DIR)/lib -fno-toplevel-reorder
$(BIN)/anybinder-conformance: LDFLAGS += -static
$(BIN)/anybinder-conformance: $(CONFORMANCE_OBJ)

PROGRAMS += $(BIN)/anybinder-conformance
TEST_TARGETS += conformance-fuse conformance-fuse-plain
CONFORMANCE_MODULES := conformance-module conformance-module-6.1 conformance-module-6.12-rt
VM_TEST_TARGETS += conformance-stock conformance-ref $(CONFORMANCE_MODULES)

.PHONY: conformance-fuse conformance-fuse-plain conformance-stock conformance-ref \
	$(CONFORMANCE_MODULES)

conformance-fuse conformance-fuse-plain: conformance-%: $(BIN)/anybinder-conformance $(BIN)/anybinderd
	$(CONFORMANCE_DIR)/run-backend $*

conformance-stock conformance-ref: conformance-%: $(BIN)/anybinder-conformance
	$(CONFORMANCE_DIR)/run-backend $*

# conformance-module alone means the module on 6.12.
$(CONFORMANCE_MODULES): $(BIN)/anybinder-conformance
	@$(MAKE) --no-print-directory module KVER=$(patsubst -%,%,$(or $(@:conformance-module%=%),-6.12))
	$(CONFORMANCE_DIR)/run-backend $(@:conformance-%=%)
