# SPDX-License-Identifier: GPL-2.0
#
# anybinder-sim: the engine on the test host, whole worlds of simulated processes, one for each seed.
SIM_SRCS := $(CORE_SRCS) $(STATE_SRCS) $(addprefix host/test/,fiber.c heap.c sim.c state.c) $(wildcard tests/engine/sim/*.c)
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
