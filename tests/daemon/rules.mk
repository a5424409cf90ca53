# SPDX-License-Identifier: GPL-2.0
#
# What the tests of a running daemon start.
TEST_PROGRAMS += $(BIN)/anybinderd $(BIN)/anybinderd-asan $(BIN)/anybinderd-locking $(FUSE_VERSIONS) \
	$(BIN)/bench-ipc $(addprefix $(BUILD)/syzkaller/,peer play)
