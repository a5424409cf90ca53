# SPDX-License-Identifier: GPL-2.0
#
# The turns of threads that look a device up by themselves, with a clock of the test's own.
TURN_TEST_SRCS := host/fuse/turn.c host/fuse/turn_test.c tests/unit/runner.c

TESTS += anybinderd:turn

$(eval $(call object_rule,turn-test,$$(CC),-Itests -Icore -Ihost -Ihost/fuse))
$(BIN)/turn_test: $(TURN_TEST_SRCS:%.c=$(OBJ)/turn-test/%.o)

anybinderd.turn.needs := $(BIN)/turn_test
anybinderd.turn.run = timeout 300 $(BIN)/turn_test
