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

# The daemon with musl, which has no headers of the kernel: only those are added.
MUSL_BUILD := $(BUILD)/musl
.PHONY: musl-daemon
musl-daemon:
	@scripts/setup musl
	@mkdir -p $(MUSL_BUILD)/include
	@ln -sfn /usr/include/linux /usr/include/asm-generic $(MUSL_BUILD)/include/
	@ln -sfn /usr/include/$$($(CC) -print-multiarch)/asm $(MUSL_BUILD)/include/asm
	@$(MAKE) --no-print-directory BUILD=$(MUSL_BUILD) CC=musl-gcc EXTRA_LDFLAGS=-static \
		EXTRA_CFLAGS="-idirafter $(MUSL_BUILD)/include" $(MUSL_BUILD)/bin/anybinderd
