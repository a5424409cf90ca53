# SPDX-License-Identifier: GPL-2.0
#
# The claims of inodes by themselves, with a clock of the test's own.
CLAIM_TEST_SRCS := host/fuse/claim.c host/fuse/claim_test.c tests/unit/runner.c

TESTS += anybinderd:claim

$(eval $(call object_rule,claim-test,$$(CC),-Itests -Icore -Ihost -Ihost/fuse))
$(BIN)/claim_test: $(CLAIM_TEST_SRCS:%.c=$(OBJ)/claim-test/%.o)

anybinderd.claim.needs := $(BIN)/claim_test
anybinderd.claim.run = timeout 300 $(BIN)/claim_test
