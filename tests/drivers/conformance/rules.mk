# SPDX-License-Identifier: GPL-2.0
#
# The conformance suite: one static program (it also runs in a bare virtual machine) and its back ends.

CONFORMANCE_DIR := tests/drivers/conformance
CONFORMANCE_SRC := $(wildcard $(CONFORMANCE_DIR)/*.c $(CONFORMANCE_DIR)/lib/*.c $(CONFORMANCE_DIR)/harness/*.c tests/lib/*.c)
CONFORMANCE_OBJ := $(CONFORMANCE_SRC:%.c=$(OBJ)/%.o)

$(CONFORMANCE_OBJ): CPPFLAGS += -Itests -I$(CONFORMANCE_DIR)/lib
$(BIN)/anybinder-conformance: LDFLAGS += -static
$(BIN)/anybinder-conformance: $(CONFORMANCE_OBJ)

PROGRAMS += $(BIN)/anybinder-conformance
