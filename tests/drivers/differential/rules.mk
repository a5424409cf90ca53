# SPDX-License-Identifier: GPL-2.0
#
# The differential run: one static program that plays scripts, and a script that compares the
# transcripts of the reference with those of the module and of the daemon.

DIFFERENTIAL_DIR := tests/drivers/differential
DIFFERENTIAL_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(DIFFERENTIAL_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,actor.o names.o process.o replace.o test.o) \
	$(addprefix $(OBJ)/tests/lib/,binder.o binder_port.o)

$(OBJ)/$(DIFFERENTIAL_DIR)/%.o: CPPFLAGS += -I$(DIFFERENTIAL_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-differential: LDFLAGS += -static
$(BIN)/anybinder-differential: $(DIFFERENTIAL_OBJ)

# The same of 32 bits, of which `all` knows nothing: it needs libc6-dev-i386 and lib32gcc-12-dev.
$(eval $(call object_rule,narrow,$(CC),-m32 -idirafter /usr/include/x86_64-linux-gnu))
$(OBJ)/narrow/%.o: CPPFLAGS += -I$(DIFFERENTIAL_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-differential32: LDFLAGS += -static -m32
$(BIN)/anybinder-differential32: $(DIFFERENTIAL_OBJ:$(OBJ)/%=$(OBJ)/narrow/%)

PROGRAMS += $(BIN)/anybinder-differential
#   fuse-replaced  the daemon, and the daemon that hands over between steps; -long: more of both
#   drivers        the reference, the module and the daemon: 100 seeds
#   many           the daemon and the stock driver of 6.12, in a user-mode Linux: 1,000 seeds
#   many-module    the module and the stock driver of 6.12, both in a user-mode Linux: 1,000 seeds
#   fuse32         the daemon with clients of 64 and of 32 bits
#   drivers32      as drivers, with clients of 32 bits
TESTS += differential:fuse-replaced
LONG_TESTS += differential:fuse-replaced-long differential:many differential:many-module \
	differential:fuse32 differential:drivers32
VM_TESTS += differential:drivers

differential.needs := $(BIN)/anybinder-differential $(BIN)/anybinderd
differential.fuse-replaced.run = DIFFERENTIAL_REPLACE_STEPS=4 $(DIFFERENTIAL_DIR)/run \
	--pair fuse-replaced --seeds 6 --steps 150 $(DIFFERENTIAL_OPTIONS)
differential.fuse-replaced-long.run = $(DIFFERENTIAL_DIR)/run --pair fuse-replaced --seeds 12 \
	$(DIFFERENTIAL_OPTIONS)
differential.drivers.needs := module-newest
differential.drivers.run = $(DIFFERENTIAL_DIR)/run --seeds 100 $(DIFFERENTIAL_OPTIONS)
differential.many.run = vm/usermode/build.sh 6.12 && $(DIFFERENTIAL_DIR)/run --pair usermode612-fuse \
	--seeds 1000 $(DIFFERENTIAL_OPTIONS)
differential.many-module.run = vm/usermode/build.sh 6.12 && \
	$(MAKE) --no-print-directory module KVER=usermode/6.12 && \
	$(DIFFERENTIAL_DIR)/run --pair usermode612-usermodule612 --seeds 1000 \
	$(DIFFERENTIAL_OPTIONS)
differential.fuse32.needs := $(BIN)/anybinder-differential32
differential.fuse32.run = $(DIFFERENTIAL_DIR)/run --pair fuse-fuse32 --seeds 100 \
	$(DIFFERENTIAL_OPTIONS)
differential.drivers32.needs := $(BIN)/anybinder-differential32 module-newest
differential.drivers32.run = $(DIFFERENTIAL_DIR)/run --pair ref32-module32 --pair ref32-fuse32 \
	--seeds 100 $(DIFFERENTIAL_OPTIONS)
