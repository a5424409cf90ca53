# SPDX-License-Identifier: GPL-2.0
#
# The page pools in user space, under sanitizers and under the seeded scheduler. The module is built by
# host/linux/rules.mk and tested by tests/heap.
HEAP_TEST_SRCS := heap/pool.c heap/store.c $(wildcard heap/*_test.c) $(wildcard heap/test/*.c) \
	tests/engine/unit/runner.c
HEAP_TEST_FLAGS := -Iheap -Iheap/test -Itests -O1
HEAP_ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
HEAP_TSAN := -fsanitize=thread
HEAP_SIM_SRCS := heap/pool.c heap/store.c host/test/fiber.c $(wildcard heap/sim/*.c)

COMPUTING_PROGRAMS += $(addprefix $(BIN)/,heap_test_asan heap_test_tsan heap-sim)

$(eval $(call object_rule,heap-asan,$$(CC),$(HEAP_TEST_FLAGS) $(HEAP_ASAN)))
$(BIN)/heap_test_asan: LDFLAGS += $(HEAP_ASAN)
$(BIN)/heap_test_asan: $(HEAP_TEST_SRCS:%.c=$(OBJ)/heap-asan/%.o)

$(eval $(call object_rule,heap-tsan,$$(CC),$(HEAP_TEST_FLAGS) $(HEAP_TSAN)))
$(BIN)/heap_test_tsan: LDFLAGS += $(HEAP_TSAN)
$(BIN)/heap_test_tsan: $(HEAP_TEST_SRCS:%.c=$(OBJ)/heap-tsan/%.o)

# gcc 12 does not see what is initialised across a switch of stacks.
$(eval $(call object_rule,heap-sim,$$(CC),-Iheap -Iheap/sim -Ihost -Ihost/test -Wno-maybe-uninitialized))
$(BIN)/heap-sim: $(HEAP_SIM_SRCS:%.c=$(OBJ)/heap-sim/%.o)
