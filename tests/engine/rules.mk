# SPDX-License-Identifier: GPL-2.0
#
# The engine without an operating system, on the test host.

# The buffer allocator in every order of freeing, compared with a model.
ALLOC_SRCS := $(wildcard tests/engine/alloc/*.c) core/memory/buffer_alloc.c core/memory/pages.c \
	core/pure/offset_allocator.c core/base/rbtree.c host/test/sim.c host/test/memory.c host/test/fiber.c

COMPUTING_PROGRAMS += $(BIN)/alloc_exhaustive

$(eval $(call object_rule,alloc,$$(CC),-Icore -Ihost -Ihost/test -DBINDER_DEBUG))
$(BIN)/alloc_exhaustive: $(ALLOC_SRCS:%.c=$(OBJ)/alloc/%.o)

# Fuzzing of the engine on the test host (libFuzzer; AddressSanitizer, UBSan and the lock checker on).
#
#   pytest tests/engine/fuzz   every input that is kept, then a bounded search from there
#   make fuzz TARGET=stream    search until stopped, on all cores; SECONDS=N ends it after that
#   make fuzz-merge            keep the fewest inputs that reach what is reached by all, found ones too
#
# tests/engine/fuzz/corpus/TARGET.hex lists the kept inputs, a line each; tests/engine/fuzz/inputs.py
# writes them as files to build/fuzz/TARGET-kept. A search leaves what it finds in
# build/fuzz/TARGET. An input that made a run fail is written to build/fuzz/TARGET-crash-*;
# `build/bin/fuzz-TARGET FILE` plays it again.
FUZZ_TARGETS := range object sg stream
FUZZ_SRCS    := $(CORE_SRCS) $(STATE_SRCS) $(wildcard host/test/*.c) tests/engine/unit/runner.c \
	$(filter-out %_test.c tests/engine/fuzz/main.c,$(wildcard tests/engine/fuzz/*.c))
FUZZ_MAX_LEN := 4096
TARGET ?= stream
SECONDS ?= 0

COMPUTING_PROGRAMS += $(FUZZ_TARGETS:%=$(BIN)/fuzz-%)
.PHONY: fuzz fuzz-merge $(FUZZ_TARGETS:%=fuzz-inputs-%)

# Each time anew: libFuzzer adds what it finds to the first directory that it is given.
$(FUZZ_TARGETS:%=fuzz-inputs-%): fuzz-inputs-%:
	@tests/engine/fuzz/inputs.py unpack tests/engine/fuzz/corpus/$*.hex $(BUILD)/fuzz/$*-kept

$(FUZZ_TARGETS:%=$(OBJ)/fuzz/main-%.o): $(OBJ)/fuzz/main-%.o: tests/engine/fuzz/main.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CLANG) $(CPPFLAGS) $(CFLAGS) $(UNIT_FLAGS) $(UNIT_SAN) \
		-DFUZZ_TARGET=fuzz_$* -MMD -MP -c -o $@ $<

# The engine as compiled for the unit tests.
$(FUZZ_TARGETS:%=$(BIN)/fuzz-%): $(BIN)/fuzz-%: $(OBJ)/fuzz/main-%.o $(FUZZ_SRCS:%.c=$(OBJ)/unit/%.o)
	$(Q)$(call say,LD,$@)$(CLANG) $(LDFLAGS) $(UNIT_SAN) -fsanitize=fuzzer -o $@ $^

## fuzz: search for inputs that break the engine (TARGET=range|object|sg|stream, SECONDS=N)
fuzz: $(BIN)/fuzz-$(TARGET) fuzz-inputs-$(TARGET)
	mkdir -p $(BUILD)/fuzz/$(TARGET)
	$(BIN)/fuzz-$(TARGET) $(BUILD)/fuzz/$(TARGET) $(BUILD)/fuzz/$(TARGET)-kept -max_len=$(FUZZ_MAX_LEN) \
		-max_total_time=$(SECONDS) -fork=$$(nproc) -artifact_prefix=$(BUILD)/fuzz/$(TARGET)-

# fuzz-merge: the fewest inputs that reach, as often, whatever the kept and the found ones reach
fuzz-merge: $(FUZZ_TARGETS:%=$(BIN)/fuzz-%) $(FUZZ_TARGETS:%=fuzz-inputs-%)
	@for target in $(FUZZ_TARGETS); do \
		dir=$(BUILD)/fuzz/$$target && rm -rf $$dir-few && mkdir -p $$dir $$dir-few && \
		$(BIN)/fuzz-$$target -set_cover_merge=1 -max_len=$(FUZZ_MAX_LEN) $$dir-few $$dir-kept $$dir && \
		tests/engine/fuzz/inputs.py pack $$dir-few tests/engine/fuzz/corpus/$$target.hex || exit; \
	done

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

# The unit tests: the engine on the test host, one program, debug checks and sanitizers on.
UNIT_SRCS := $(CORE_SRCS) $(STATE_SRCS) $(wildcard core/*/*_test.c host/test/*.c tests/engine/unit/*.c) \
	$(filter-out tests/engine/fuzz/main.c,$(wildcard tests/engine/fuzz/*.c))
UNIT_SAN  := -fsanitize=address,undefined -fno-sanitize-recover=undefined
UNIT_FLAGS := -Icore -Ihost -Ihost/test -Itests -DBINDER_DEBUG -O1

COMPUTING_PROGRAMS += $(BIN)/unit_test $(BIN)/race_test

# The fuzzers and the conformance suite on the engine are linked with the same objects, hence clang,
# and the counters of libFuzzer, which are otherwise not read.
$(eval $(call object_rule,unit,$(CLANG),$(UNIT_FLAGS) $(UNIT_SAN) -fsanitize=fuzzer-no-link))
$(BIN)/unit_test: CC = $(CLANG)
$(BIN)/unit_test: LDFLAGS += $(UNIT_SAN)
$(BIN)/unit_test: $(UNIT_SRCS:%.c=$(OBJ)/unit/%.o)

$(eval $(call object_rule,race,$$(CC),$(UNIT_FLAGS) -fsanitize=thread))
$(BIN)/race_test: LDFLAGS += -fsanitize=thread
$(BIN)/race_test: $(UNIT_SRCS:%.c=$(OBJ)/race/%.o)

.PHONY: stress
# stress: storms of threads under both sets of sanitizers (STORMS=N seeds, from FIRST)
stress: $(BIN)/unit_test $(BIN)/race_test
	@for seed in $$(seq $(or $(FIRST),1) $$(($(or $(FIRST),1) + $(or $(STORMS),20) - 1))); do \
		echo "STORM_SEED=$$seed"; \
		STORM_SEED=$$seed timeout 300 $(BIN)/unit_test storm && \
		STORM_SEED=$$seed TSAN_OPTIONS=halt_on_error=1 timeout 300 $(BIN)/race_test storm || exit; \
	done

# The programs of tests/engine/unit/test_coverage.py.
COV_FLAGS := -fprofile-instr-generate -fcoverage-mapping

COMPUTING_PROGRAMS += $(BIN)/cov_test $(BIN)/cov_sim $(BIN)/cov_conformance

$(eval $(call object_rule,cov,$(CLANG),$(UNIT_FLAGS) $(COV_FLAGS)))
$(eval $(call object_rule,cov-sim,$(CLANG),$(filter-out -Wno-maybe%,$(SIM_FLAGS)) -O1 $(COV_FLAGS)))

$(BIN)/cov_test $(BIN)/cov_sim $(BIN)/cov_conformance: CC = $(CLANG)
$(BIN)/cov_test $(BIN)/cov_sim $(BIN)/cov_conformance: LDFLAGS += $(COV_FLAGS)
$(BIN)/cov_test: $(UNIT_SRCS:%.c=$(OBJ)/cov/%.o)

# The same tests with the engine in the program, on the test host: instead of the parts that ask a
# kernel for processes, files and scheduling, engine/ has those that simulate them. The engine and
# its host are compiled as for the unit tests.
CONFORMANCE_ENGINE_SRC := $(filter-out $(addprefix $(CONFORMANCE_DIR)/lib/,files.c actor_process.c),$(CONFORMANCE_SRC)) $(wildcard $(CONFORMANCE_DIR)/engine/*.c)
CONFORMANCE_ENGINE_CORE := $(CORE_SRCS) $(STATE_SRCS) \
	$(addprefix host/test/,fiber.c memory.c sim.c state.c)
# Not all by -I: host/linux is no place for <linux/...>.
CONFORMANCE_ENGINE_FLAGS := -iquotecore -iquotehost -Ihost/test -Itests -I$(CONFORMANCE_DIR)/lib \
	-DBINDER_DEBUG -O1

$(eval $(call object_rule,conformance-engine,$(CLANG),$(CONFORMANCE_ENGINE_FLAGS) $(UNIT_SAN)))
$(BIN)/conformance-engine: CC = $(CLANG)
$(BIN)/conformance-engine: LDFLAGS += $(UNIT_SAN)
$(BIN)/conformance-engine: $(CONFORMANCE_ENGINE_SRC:%.c=$(OBJ)/conformance-engine/%.o) \
	$(CONFORMANCE_ENGINE_CORE:%.c=$(OBJ)/unit/%.o)

COMPUTING_PROGRAMS += $(BIN)/conformance-engine

# For tests/engine/unit/test_coverage.py.
$(eval $(call object_rule,cov-conformance,$(CLANG),$(CONFORMANCE_ENGINE_FLAGS) $(COV_FLAGS)))
# The engine and its host with counters; the tests themselves need none.
$(BIN)/cov_conformance: $(CONFORMANCE_ENGINE_CORE:%.c=$(OBJ)/cov/%.o) $(patsubst %.c,$(OBJ)/%.o,$(filter-out \
	$(CONFORMANCE_DIR)/engine/%,$(CONFORMANCE_ENGINE_SRC))) $(patsubst %.c,$(OBJ)/cov-conformance/%.o,$(filter \
	$(CONFORMANCE_DIR)/engine/%,$(CONFORMANCE_ENGINE_SRC)))
