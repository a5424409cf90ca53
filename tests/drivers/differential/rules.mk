# SPDX-License-Identifier: GPL-2.0
#
# The differential run: one static program that plays scripts, and a script that compares the
# transcripts of the reference with those of the module and of the daemon.

DIFFERENTIAL_DIR := tests/drivers/differential
DIFFERENTIAL_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(DIFFERENTIAL_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,actor.o names.o replace.o test.o)

$(OBJ)/$(DIFFERENTIAL_DIR)/%.o: CPPFLAGS += -I$(DIFFERENTIAL_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-differential: LDFLAGS += -static
$(BIN)/anybinder-differential: $(DIFFERENTIAL_OBJ)

PROGRAMS += $(BIN)/anybinder-differential
#   fuse-replaced  the daemon, and the daemon that hands over between steps; -long: more of both
#   drivers        the reference, the module and the daemon: 100 seeds
#   many           the daemon and the stock driver of 6.12, in a user-mode Linux: 1,000 seeds
TESTS += differential:fuse-replaced
LONG_TESTS += differential:fuse-replaced-long differential:many
VM_TESTS += differential:drivers

differential.needs := $(BIN)/anybinder-differential $(BIN)/anybinderd
differential.fuse-replaced.run = DIFFERENTIAL_REPLACE_STEPS=4 $(DIFFERENTIAL_DIR)/run \
	--pair fuse-replaced --seeds 6 --steps 150 $(DIFFERENTIAL_OPTIONS)
differential.fuse-replaced-long.run = $(DIFFERENTIAL_DIR)/run --pair fuse-replaced --seeds 12 \
	$(DIFFERENTIAL_OPTIONS)
differential.drivers.needs := module-newest
differential.drivers.run = $(DIFFERENTIAL_DIR)/run --seeds 100 $(DIFFERENTIAL_OPTIONS)
differential.many.run = vm/usermode/build 6.12 && $(DIFFERENTIAL_DIR)/run --pair usermode612-fuse \
	--seeds 1000 $(DIFFERENTIAL_OPTIONS)
