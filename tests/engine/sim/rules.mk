# SPDX-License-Identifier: GPL-2.0
#
# anybinder-sim: the engine on the test host, whole worlds of simulated processes, one for each seed.
SIM_SRCS := $(CORE_SRCS) $(STATE_SRCS) $(addprefix host/test/,fiber.c memory.c sim.c state.c) $(wildcard tests/engine/sim/*.c)
# gcc 12 loses sight of what is written behind a switch of stacks.
SIM_FLAGS := -Icore -Ihost -Ihost/test -DBINDER_DEBUG -DBINDER_COUNT_COVER -Wno-maybe-uninitialized
SIM_ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined

COMPUTING_PROGRAMS += $(BIN)/anybinder-sim $(BIN)/anybinder-sim-asan

$(eval $(call object_rule,sim,$$(CC),$(SIM_FLAGS)))
SIM_OBJS := $(SIM_SRCS:%.c=$(OBJ)/sim/%.o)
$(BIN)/anybinder-sim: $(SIM_OBJS)
$(BIN)/cov_sim: $(SIM_SRCS:%.c=$(OBJ)/cov-sim/%.o)

$(eval $(call object_rule,sim-asan,$$(CC),$(SIM_FLAGS) -O1 $(SIM_ASAN)))
$(BIN)/anybinder-sim-asan: LDFLAGS += $(SIM_ASAN)
$(BIN)/anybinder-sim-asan: $(SIM_SRCS:%.c=$(OBJ)/sim-asan/%.o)

# For the bugs that are planted in a copy of one file.
SIM_COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) $(SIM_FLAGS) -c

# anybinder-sim-exhaustive: small worlds, each in every schedule (tests/engine/sim/exhaustive/).
EXHAUSTIVE := tests/engine/sim/exhaustive
# Accesses to memory are not looked at in these. The log of transactions is for reports only.
EXHAUSTIVE_PLAIN := host/test/fiber.c host/test/memory.c host/test/state.c core/common/translog.c \
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
