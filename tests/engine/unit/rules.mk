# SPDX-License-Identifier: GPL-2.0
#
# The unit tests: the engine on the test host, one program, debug checks and sanitizers on.
#
#   plain     all of them
#   races     those with threads of their own, under the race detector
#   handed    most of them, while the engine is written, freed and restored before each call; those left
#             out look at objects of the engine across calls, have more of them than is worth the time, or
#             let host operations fail
#   fields    each field of the state that the simulator does not look for is lost in a hand-over, in
#             turn; the tests that are named for it must fail
#   coverage  see coverage.rules.mk
UNIT_SRCS := $(CORE_SRCS) $(STATE_SRCS) $(wildcard core/*/*_test.c host/test/*.c tests/engine/unit/*.c) \
	$(filter-out tests/engine/fuzz/main.c,$(wildcard tests/engine/fuzz/*.c))
UNIT_SAN  := -fsanitize=address,undefined -fno-sanitize-recover=undefined
UNIT_FLAGS := -Icore -Ihost -Ihost/test -Itests -DBINDER_DEBUG -O1

COMPUTING += unit
TESTS += unit:plain unit:races unit:handed unit:fields

$(eval $(call object_rule,unit,$$(CC),$(UNIT_FLAGS) $(UNIT_SAN)))
$(BIN)/unit_test: LDFLAGS += $(UNIT_SAN)
$(BIN)/unit_test: $(UNIT_SRCS:%.c=$(OBJ)/unit/%.o)

$(eval $(call object_rule,race,$$(CC),$(UNIT_FLAGS) -fsanitize=thread))
$(BIN)/race_test: LDFLAGS += -fsanitize=thread
$(BIN)/race_test: $(UNIT_SRCS:%.c=$(OBJ)/race/%.o)

unit.plain.needs := $(BIN)/unit_test
unit.plain.run = timeout 300 $(BIN)/unit_test

unit.handed.needs := $(BIN)/unit_test
unit.handed.run = UNIT_HAND_OVER=1 timeout 300 $(BIN)/unit_test --name handed --without storm threads \
	failure undo limit fuzz_of given_up thread_ state_

unit.fields.needs := $(BIN)/unit_test
unit.fields.run = UNIT_LOSE_FIELDS=1 timeout 600 $(BIN)/unit_test --name fields

unit.races.needs := $(BIN)/race_test
unit.races.run = TSAN_OPTIONS=halt_on_error=1 timeout 300 $(BIN)/race_test --name races storm threads

.PHONY: stress
## stress: storms of threads under both sets of sanitizers (STORMS=N seeds, from FIRST)
stress: $(BIN)/unit_test $(BIN)/race_test
	@for seed in $$(seq $(or $(FIRST),1) $$(($(or $(FIRST),1) + $(or $(STORMS),20) - 1))); do \
		echo "STORM_SEED=$$seed"; \
		STORM_SEED=$$seed timeout 300 $(BIN)/unit_test storm && \
		STORM_SEED=$$seed TSAN_OPTIONS=halt_on_error=1 timeout 300 $(BIN)/race_test storm || exit; \
	done
