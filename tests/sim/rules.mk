# SPDX-License-Identifier: GPL-2.0
#
# anybinder-sim: the engine on the test home, whole worlds of simulated processes, one
# for each seed.
SIM_SRCS := $(CORE_SRCS) $(addprefix host/test/,fiber.c heap.c sim.c) $(wildcard tests/sim/*.c)
SIM_OBJS := $(SIM_SRCS:%.c=$(OBJ)/sim/%.o)
# gcc 12 loses sight of what is written behind a switch of stacks.
SIM_CPPFLAGS := -Icore -Ihost -Ihost/test -DBINDER_DEBUG -DBINDER_COUNT_COVER -Wno-maybe-uninitialized

PROGRAMS += $(BIN)/anybinder-sim
TEST_TARGETS += test-sim test-sim-asan

$(OBJ)/sim/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(SIM_CPPFLAGS) -MMD -MP -c -o $@ $<

$(BIN)/anybinder-sim: $(SIM_OBJS)

# The same, looking for misuse of memory as well.
SIM_ASAN_OBJS := $(SIM_SRCS:%.c=$(OBJ)/sim-asan/%.o)
SIM_ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined

$(OBJ)/sim-asan/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(SIM_CPPFLAGS) -O1 $(SIM_ASAN) \
		-MMD -MP -c -o $@ $<

$(BIN)/anybinder-sim-asan: LDFLAGS += $(SIM_ASAN)
$(BIN)/anybinder-sim-asan: $(SIM_ASAN_OBJS)

test-sim: $(BIN)/anybinder-sim
	@timeout 600 $< --seeds 10000 --cover

test-sim-asan: $(BIN)/anybinder-sim-asan
	@timeout 600 $< --name sim-asan --seeds 1000

# Bugs are planted, one at a time, and must be found.
TEST_TARGETS += test-sim-mutants

test-sim-mutants: $(BIN)/anybinder-sim
	@timeout 900 tests/sim/mutants $(OBJ)/sim $(BUILD)/sim-mutants 4000 -- \
		$(CC) $(CPPFLAGS) $(CFLAGS) $(SIM_CPPFLAGS) -c
