# SPDX-License-Identifier: GPL-2.0
#
# anybinder-sim: the engine on the test host, whole worlds of simulated processes, one for each seed.
#
#   plain    10,000 worlds; every cover point must be reached
#   asan     1,000 worlds, checked for misuse of memory as well
#   handed   10,000 worlds, each again while the engine is handed over; must not be noticed
#   handed-asan  300 of them, checked for misuse of memory as well
#   handed-long  100,000 of them; only when it is asked for
#   fields   each field of the state is lost in a hand-over, in turn; must be found
#   mutants  bugs are planted, one at a time, and must be found
SIM_SRCS := $(CORE_SRCS) $(STATE_SRCS) $(addprefix host/test/,fiber.c heap.c sim.c state.c) $(wildcard tests/engine/sim/*.c)
# gcc 12 loses sight of what is written behind a switch of stacks.
SIM_FLAGS := -Icore -Ihost -Ihost/test -DBINDER_DEBUG -DBINDER_COUNT_COVER -Wno-maybe-uninitialized
SIM_ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined

PROGRAMS += $(BIN)/anybinder-sim
COMPUTING += sim
TESTS += sim:plain sim:asan sim:handed sim:handed-asan sim:fields sim:mutants
LONG_TESTS += sim:handed-long

$(eval $(call object_rule,sim,$$(CC),$(SIM_FLAGS)))
$(BIN)/anybinder-sim: $(SIM_SRCS:%.c=$(OBJ)/sim/%.o)
$(BIN)/cov_sim: $(SIM_SRCS:%.c=$(OBJ)/cov-sim/%.o)

$(eval $(call object_rule,sim-asan,$$(CC),$(SIM_FLAGS) -O1 $(SIM_ASAN)))
$(BIN)/anybinder-sim-asan: LDFLAGS += $(SIM_ASAN)
$(BIN)/anybinder-sim-asan: $(SIM_SRCS:%.c=$(OBJ)/sim-asan/%.o)

sim.plain.needs := $(BIN)/anybinder-sim
sim.plain.run = timeout 600 $(BIN)/anybinder-sim --seeds 10000 --cover

sim.asan.needs := $(BIN)/anybinder-sim-asan
sim.asan.run = timeout 600 $(BIN)/anybinder-sim-asan --name sim-asan --seeds 1000

sim.handed.needs := $(BIN)/anybinder-sim
sim.handed.run = timeout 600 $(BIN)/anybinder-sim --name sim-handed --seeds 10000 --hand-over

sim.handed-asan.needs := $(BIN)/anybinder-sim-asan
sim.handed-asan.run = timeout 600 $(BIN)/anybinder-sim-asan --name sim-handed-asan --seeds 300 \
	--hand-over

sim.handed-long.needs := $(BIN)/anybinder-sim
sim.handed-long.run = timeout 3600 $(BIN)/anybinder-sim --name sim-handed-long --seeds 100000 \
	--hand-over

sim.fields.needs := $(BIN)/anybinder-sim
sim.fields.run = timeout 600 $(BIN)/anybinder-sim --name sim-fields --fields

sim.mutants.needs := $(BIN)/anybinder-sim
sim.mutants.run = timeout 900 tests/engine/sim/mutants $(OBJ)/sim $(BUILD)/sim-mutants 60000 -- \
	$(CC) $(CPPFLAGS) $(CFLAGS) $(SIM_FLAGS) -c
