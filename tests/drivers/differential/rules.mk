# SPDX-License-Identifier: GPL-2.0
#
# The differential run: one static program that plays scripts, and a script that compares the
# transcripts of the reference with those of the module and of the daemon.

DIFFERENTIAL_DIR := tests/drivers/differential
DIFFERENTIAL_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(DIFFERENTIAL_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,actor.o actor_process.o names.o replace.o test.o) \
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
