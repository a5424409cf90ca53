# SPDX-License-Identifier: GPL-2.0
#
# What the tests of a running daemon start; and attacks of one user on the others, as root, who
# becomes the users: `pytest tests/daemon/hostile`, --long for all of them.
# `tests/daemon/hostile/table.py build/hostile` makes a table of what the victims see, and with
# --write puts the worst of each row into docs/SECURITY.md.
HOSTILE_PROGRAMS := $(addprefix $(BIN)/hostile-,flood uring)
TEST_PROGRAMS += $(BIN)/anybinderd $(BIN)/anybinderd-asan $(FUSE_VERSIONS) \
	$(BIN)/bench-ipc $(BUILD)/syzkaller/peer $(HOSTILE_PROGRAMS) $(BIN)/hostile-early.so

$(HOSTILE_PROGRAMS): $(BIN)/hostile-%: $(OBJ)/tests/daemon/hostile/%.o
$(BIN)/hostile-flood: $(addprefix $(OBJ)/tests/lib/,binder.o binder_port.o)

$(BIN)/hostile-early.so: tests/daemon/hostile/early.c
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -shared -fPIC -o $@ $< -ldl
