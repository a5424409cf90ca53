# SPDX-License-Identifier: GPL-2.0
#
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
