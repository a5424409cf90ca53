# SPDX-License-Identifier: GPL-2.0
#
# Attacks of one user on the others, as root, who becomes the users: `pytest tests/daemon/hostile`,
# --long for all of them. `tests/daemon/hostile/table.py build/hostile` makes a table of what the
# victims see, and with --write puts the worst of each row into docs/SECURITY.md.
HOSTILE_DIR := tests/daemon/hostile
HOSTILE_PROGRAMS := $(addprefix $(BIN)/hostile-,flood uring)
TEST_PROGRAMS += $(HOSTILE_PROGRAMS) $(BIN)/hostile-early.so

$(HOSTILE_PROGRAMS): $(BIN)/hostile-%: $(OBJ)/$(HOSTILE_DIR)/%.o

$(BIN)/hostile-early.so: $(HOSTILE_DIR)/early.c
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -shared -fPIC -o $@ $< -ldl
