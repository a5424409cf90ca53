# SPDX-License-Identifier: GPL-2.0
#
# Storms: clients killed at random while calls are in progress; on the daemon, also while it hands
# over again and again, and on the module.

STORM_DIR := tests/drivers/storm
STORM_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(STORM_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,names.o replace.o test.o) \
	$(addprefix $(OBJ)/tests/lib/,binder.o binder_port.o)

$(OBJ)/$(STORM_DIR)/%.o: CPPFLAGS += -I$(STORM_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-storm: LDFLAGS += -static
$(BIN)/anybinder-storm: $(STORM_OBJ)

PROGRAMS += $(BIN)/anybinder-storm
