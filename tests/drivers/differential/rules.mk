# SPDX-License-Identifier: GPL-2.0
#
# The differential run: one static program that plays scripts, and a script that compares the
# transcripts of the reference with those of the module and of the daemon.

DIFFERENTIAL_DIR := tests/drivers/differential
DIFFERENTIAL_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(DIFFERENTIAL_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,actor.o names.o test.o)

$(OBJ)/$(DIFFERENTIAL_DIR)/%.o: CPPFLAGS += -I$(DIFFERENTIAL_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-differential: LDFLAGS += -static
$(BIN)/anybinder-differential: $(DIFFERENTIAL_OBJ)

PROGRAMS += $(BIN)/anybinder-differential
VM_TESTS += differential

differential.needs := $(BIN)/anybinder-differential $(BIN)/anybinderd module-newest
differential.run = $(DIFFERENTIAL_DIR)/run $(DIFFERENTIAL_OPTIONS)
