# SPDX-License-Identifier: GPL-2.0
#
# The pools in user space, for their unit tests: built with AddressSanitizer and UBSan, and with
# ThreadSanitizer. The module is built by host/linux/rules.mk.
HEAP_TEST_SRCS := heap/pool.c heap/store.c $(wildcard heap/*_test.c) $(wildcard heap/test/*.c) \
	tests/unit/random.c tests/unit/runner.c
HEAP_ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
HEAP_TSAN := -fsanitize=thread

TEST_TARGETS += test-heap test-heap-races

$(OBJ)/heap-asan/%.o: HEAP_SAN := $(HEAP_ASAN)
$(OBJ)/heap-tsan/%.o: HEAP_SAN := $(HEAP_TSAN)
define heap_rule
$$(OBJ)/heap-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(Q)$$(call say,CC,$$@)$$(CC) $$(CPPFLAGS) -Iheap -Iheap/test -Itests $$(CFLAGS) -O1 \
		$$(HEAP_SAN) -MMD -MP -c -o $$@ $$<

$$(BIN)/heap_test_$(1): $$(HEAP_TEST_SRCS:%.c=$$(OBJ)/heap-$(1)/%.o)
endef
$(foreach san,asan tsan,$(eval $(call heap_rule,$(san))))
$(BIN)/heap_test_asan: LDFLAGS += $(HEAP_ASAN)
$(BIN)/heap_test_tsan: LDFLAGS += $(HEAP_TSAN)

test-heap: $(BIN)/heap_test_asan
	@timeout 120 $(BIN)/heap_test_asan heap

test-heap-races: $(BIN)/heap_test_tsan
	@TSAN_OPTIONS=halt_on_error=1 timeout 120 $(BIN)/heap_test_tsan heap-races

# The same pools under the seeded scheduler; a seed is one interleaving.
HEAP_SIM_SRCS := heap/pool.c heap/store.c host/test/fiber.c $(wildcard heap/sim/*.c)
TEST_TARGETS += test-heap-sim

# gcc 12 does not see what is initialised across a switch of stacks.
$(OBJ)/heap-sim/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) -Iheap -Iheap/sim -Ihost/test $(CFLAGS) \
		-Wno-maybe-uninitialized -MMD -MP -c -o $@ $<

$(BIN)/heap-sim: $(HEAP_SIM_SRCS:%.c=$(OBJ)/heap-sim/%.o)

test-heap-sim: $(BIN)/heap-sim
	@timeout 120 $(BIN)/heap-sim --seeds 20000
