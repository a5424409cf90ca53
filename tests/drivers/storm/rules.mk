# SPDX-License-Identifier: GPL-2.0
#
# Storms: clients killed at random while calls are in progress; on the daemon, also while it hands
# over again and again, and on the module.

STORM_DIR := tests/drivers/storm
STORM_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(STORM_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,names.o replace.o test.o)

$(OBJ)/$(STORM_DIR)/%.o: CPPFLAGS += -I$(STORM_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-storm: LDFLAGS += -static
$(BIN)/anybinder-storm: $(STORM_OBJ)

PROGRAMS += $(BIN)/anybinder-storm
TESTS += storm:fuse storm:fuse-replaced
VM_TESTS += storm:module

# Options of anybinder-storm, e.g. --seed 7 --seeds 100 --kills 500
STORM_OPTIONS ?=
storm.needs := $(BIN)/anybinder-storm

storm.fuse.needs := $(BIN)/anybinderd
storm.fuse.run = $(STORM_DIR)/run $(STORM_OPTIONS)

storm.fuse-replaced.needs := $(BIN)/anybinderd
storm.fuse-replaced.run = $(STORM_DIR)/run --kills 100 --seeds 2 --replace-ms 5 $(STORM_OPTIONS)

storm.module.needs := module-6.12
storm.module.run = vm/run --kernel 6.12 --driver module --timeout 600 -- \
	$(BIN)/anybinder-storm --kills 60 $(STORM_OPTIONS)
