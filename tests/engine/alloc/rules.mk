# SPDX-License-Identifier: GPL-2.0
#
# The buffer allocator in every order of freeing, compared with a model.
#
#   five  five buffers: 4.7 million cases
#   six   six buffers; only when it is asked for
ALLOC_SRCS := $(wildcard tests/engine/alloc/*.c) core/memory/alloc.c core/memory/pages.c \
	core/pure/range.c core/base/rbtree.c host/test/sim.c host/test/heap.c host/test/fiber.c

PROGRAMS += $(BIN)/alloc_exhaustive
COMPUTING += alloc
TESTS += alloc:five
LONG_TESTS += alloc:six

$(eval $(call object_rule,alloc,$$(CC),-Icore -Ihost -Ihost/test -DBINDER_DEBUG))
$(BIN)/alloc_exhaustive: $(ALLOC_SRCS:%.c=$(OBJ)/alloc/%.o)

alloc.five.needs := $(BIN)/alloc_exhaustive
alloc.five.run = timeout 600 $(BIN)/alloc_exhaustive

alloc.six.needs := $(BIN)/alloc_exhaustive
alloc.six.run = timeout 36000 $(BIN)/alloc_exhaustive 6
