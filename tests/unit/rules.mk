# SPDX-License-Identifier: GPL-2.0
#
# The unit tests: the engine on the test home, one program, debug checks and
# sanitizers on.
UNIT_SRCS := $(CORE_SRCS) $(wildcard core/*/*_test.c host/test/*.c tests/unit/*.c) \
	$(filter-out tests/fuzz/main.c,$(wildcard tests/fuzz/*.c))
UNIT_OBJS := $(UNIT_SRCS:%.c=$(OBJ)/unit/%.o)
UNIT_SAN  := -fsanitize=address,undefined -fno-sanitize-recover=undefined

TEST_TARGETS += test-unit

$(OBJ)/unit/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) -Icore -Ihost -Ihost/test -Itests -DBINDER_DEBUG \
		$(CFLAGS) -O1 $(UNIT_SAN) -MMD -MP -c -o $@ $<

$(BIN)/unit_test: LDFLAGS += $(UNIT_SAN)
$(BIN)/unit_test: $(UNIT_OBJS)

test-unit: $(BIN)/unit_test
	@timeout 300 $(BIN)/unit_test

# Once more under one mutex, whose rank the debug checks know.
TEST_TARGETS += test-unit-global

test-unit-global: $(BIN)/unit_test
	@timeout 300 $(BIN)/unit_test --global unit-global

# The tests with threads of execution of their own once more, looking for data races.
RACE_OBJS := $(UNIT_SRCS:%.c=$(OBJ)/race/%.o)

TEST_TARGETS += test-races

$(OBJ)/race/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) -Icore -Ihost -Ihost/test -Itests -DBINDER_DEBUG \
		$(CFLAGS) -O1 -fsanitize=thread -MMD -MP -c -o $@ $<

$(BIN)/race_test: LDFLAGS += -fsanitize=thread
$(BIN)/race_test: $(RACE_OBJS)

.PHONY: stress

## stress: storms of threads under both sets of sanitizers (STORMS=N seeds, from FIRST)
stress: $(BIN)/unit_test $(BIN)/race_test
	@for seed in $$(seq $(or $(FIRST),1) $$(($(or $(FIRST),1) + $(or $(STORMS),20) - 1))); do \
		echo "STORM_SEED=$$seed"; \
		STORM_SEED=$$seed timeout 300 $(BIN)/unit_test storm && \
		STORM_SEED=$$seed TSAN_OPTIONS=halt_on_error=1 timeout 300 $(BIN)/race_test storm || exit; \
	done

test-races: $(BIN)/race_test
	@TSAN_OPTIONS=halt_on_error=1 timeout 300 $(BIN)/race_test --name races storm threads
