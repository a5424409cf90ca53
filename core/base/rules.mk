# SPDX-License-Identifier: GPL-2.0
#
# The base is compiled by each home with its own host_types.h; here it is
# compiled for its unit tests, freestanding as far as the base itself goes.
BASE_SRCS := core/base/rbtree.c core/base/bitmap.c
BASE_TEST_SRCS := $(BASE_SRCS) $(wildcard core/base/*_test.c) core/base/test/main.c
BASE_TEST_OBJS := $(BASE_TEST_SRCS:core/base/%.c=$(OBJ)/base-test/%.o)

TEST_TARGETS += test-base

$(OBJ)/base-test/rbtree.o $(OBJ)/base-test/bitmap.o: CFLAGS += -ffreestanding
$(BASE_TEST_OBJS): $(OBJ)/base-test/%.o: core/base/%.c
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) -Icore/base -Icore/base/test $(CFLAGS) -fsanitize=address,undefined \
		-MMD -MP -c -o $@ $<

$(BIN)/base_test: LDFLAGS += -fsanitize=address,undefined
$(BIN)/base_test: $(BASE_TEST_OBJS)

test-base: $(BIN)/base_test
	@timeout 120 $(BIN)/base_test
