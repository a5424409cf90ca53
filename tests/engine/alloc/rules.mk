# SPDX-License-Identifier: GPL-2.0
#
# The buffer allocator in every order of freeing, compared with a model.
ALLOC_SRCS := $(wildcard tests/engine/alloc/*.c) core/memory/buffer_alloc.c core/memory/pages.c \
	core/pure/offset_allocator.c core/base/rbtree.c host/test/sim.c host/test/memory.c host/test/fiber.c

COMPUTING_PROGRAMS += $(BIN)/alloc_exhaustive

$(eval $(call object_rule,alloc,$$(CC),-Icore -Ihost -Ihost/test -DBINDER_DEBUG))
$(BIN)/alloc_exhaustive: $(ALLOC_SRCS:%.c=$(OBJ)/alloc/%.o)
