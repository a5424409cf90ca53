# SPDX-License-Identifier: GPL-2.0
#
# Random programs of syzkaller, guided by the coverage of the module, on Debian's 6.12 with its slab
# checks; on request, not in CI: they want Go and a checkout of syzkaller (run.sh). Those that reached
# the most (corpus) are played again without both, by test_replay_module.py and tests/daemon.
SYZKALLER_DIR := tests/kernel/syzkaller

$(addprefix $(BUILD)/syzkaller/,peer play): LDFLAGS += -static
$(BUILD)/syzkaller/peer: $(addprefix $(OBJ)/tests/lib/,binder.o binder_port.o)
$(addprefix $(BUILD)/syzkaller/,peer play): $(BUILD)/syzkaller/%: $(OBJ)/$(SYZKALLER_DIR)/%.o
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^
