# SPDX-License-Identifier: GPL-2.0
#
# anybinder-sim-exhaustive: small worlds, each in every schedule (tests/engine/sim/exhaustive/).
EXHAUSTIVE := tests/engine/sim/exhaustive
# Accesses to memory are not looked at in these. The log of transactions is for reports only.
EXHAUSTIVE_PLAIN := host/test/fiber.c host/test/heap.c host/test/state.c core/common/translog.c \
	$(EXHAUSTIVE)/access.c $(EXHAUSTIVE)/explore.c $(EXHAUSTIVE)/main.c
EXHAUSTIVE_WATCHED := $(EXHAUSTIVE)/worlds.c $(filter-out $(EXHAUSTIVE_PLAIN) \
	tests/engine/sim/main.c tests/engine/sim/fields.c,$(SIM_SRCS))
EXHAUSTIVE_OBJS := $(EXHAUSTIVE_WATCHED:%.c=$(OBJ)/sim-watched/%.o) \
	$(EXHAUSTIVE_PLAIN:%.c=$(OBJ)/sim-exhaustive/%.o)
EXHAUSTIVE_FLAGS := -Icore -Ihost -Ihost/test -DBINDER_DEBUG -Wno-maybe-uninitialized
# It calls functions of access.c; the library of the race detector is not linked.
EXHAUSTIVE_WATCH := -fsanitize=thread

COMPUTING_PROGRAMS += $(BIN)/anybinder-sim-exhaustive

$(eval $(call object_rule,sim-watched,$$(CC),$(EXHAUSTIVE_FLAGS) $(EXHAUSTIVE_WATCH)))
$(eval $(call object_rule,sim-exhaustive,$$(CC),$(EXHAUSTIVE_FLAGS)))
$(BIN)/anybinder-sim-exhaustive: LDFLAGS += -Wl,--wrap=calloc,--wrap=free
$(BIN)/anybinder-sim-exhaustive: $(EXHAUSTIVE_OBJS)

EXHAUSTIVE_COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) $(EXHAUSTIVE_FLAGS) $(EXHAUSTIVE_WATCH) -c
