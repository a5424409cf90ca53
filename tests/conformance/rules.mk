# SPDX-License-Identifier: GPL-2.0
#
# The conformance suite: one static program (it also runs in a bare virtual machine) and its back ends.

CONFORMANCE_DIR := tests/conformance
CONFORMANCE_SRC := $(wildcard $(CONFORMANCE_DIR)/*.c $(CONFORMANCE_DIR)/lib/*.c $(CONFORMANCE_DIR)/harness/*.c)
CONFORMANCE_OBJ := $(CONFORMANCE_SRC:%.c=$(OBJ)/%.o)

$(CONFORMANCE_OBJ): CPPFLAGS += -Itests -I$(CONFORMANCE_DIR)/lib
$(BIN)/anybinder-conformance: LDFLAGS += -static
$(BIN)/anybinder-conformance: $(CONFORMANCE_OBJ)

PROGRAMS += $(BIN)/anybinder-conformance
TEST_TARGETS += conformance-fuse conformance-fuse-plain conformance-fuse-global
CONFORMANCE_MODULES := conformance-module conformance-module-6.1 conformance-module-6.12-rt
VM_TEST_TARGETS += conformance-stock conformance-ref $(CONFORMANCE_MODULES)

.PHONY: conformance-fuse conformance-fuse-plain conformance-fuse-global \
	conformance-stock conformance-ref \
	$(CONFORMANCE_MODULES)

conformance-fuse conformance-fuse-plain: conformance-%: $(BIN)/anybinder-conformance $(BIN)/anybinderd
	$(CONFORMANCE_DIR)/run-backend $*

conformance-stock conformance-ref: conformance-%: $(BIN)/anybinder-conformance
	$(CONFORMANCE_DIR)/run-backend $*

# What a call can do, in the other regimes of locking; the rest differs in nothing there.
REGIME_FILTERS := $(patsubst %,--filter '%',txn_* object_* loop_* oneway_* freeze_* death_* rt_*)
CONFORMANCE_REGIMES := conformance-module-global conformance-module-nopreempt
VM_TEST_TARGETS += $(CONFORMANCE_REGIMES)

.PHONY: $(CONFORMANCE_REGIMES)

conformance-fuse-global: $(BIN)/anybinder-conformance $(BIN)/anybinderd
	$(CONFORMANCE_DIR)/run-backend fuse-global $(REGIME_FILTERS)

$(CONFORMANCE_REGIMES): $(BIN)/anybinder-conformance
	@$(MAKE) --no-print-directory module KVER=6.12
	$(CONFORMANCE_DIR)/run-backend $(@:conformance-%=%) $(REGIME_FILTERS)

# conformance-module alone means the module on 6.12.
$(CONFORMANCE_MODULES): $(BIN)/anybinder-conformance
	@$(MAKE) --no-print-directory module KVER=$(patsubst -%,%,$(or $(@:conformance-module%=%),-6.12))
	$(CONFORMANCE_DIR)/run-backend $(@:conformance-%=%)
