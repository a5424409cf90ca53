# SPDX-License-Identifier: GPL-2.0
INJECT_TEST_OBJS := $(addprefix $(OBJ)/host/fuse/,inject.o inject_plan.o inject_test.o \
	inject_hard_test.o inject_test_lib.o) $(INJECT_ARCH_SRC:%.c=$(OBJ)/%.o) \
	$(OBJ)/tests/unit/runner.o

TESTS += anybinderd:inject

$(INJECT_TEST_OBJS): CPPFLAGS += -Itests
$(BIN)/inject_test: $(INJECT_TEST_OBJS)

anybinderd.inject.needs := $(BIN)/inject_test
anybinderd.inject.run = timeout 300 $(BIN)/inject_test
