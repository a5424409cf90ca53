# SPDX-License-Identifier: GPL-2.0
#
# Random programs of syzkaller, guided by the coverage of the module, on Debian's 6.12 with its slab
# checks; on request, not in CI: they want Go and a checkout of syzkaller. Those that reached the
# most (corpus) are played again without both, by syzkaller-replay:
#
#   module, module-6.1, module-newest  on the module
#   covered  on the module that counts basic blocks; on request
SYZKALLER_DIR := tests/kernel/syzkaller
# A checkout of syzkaller
SYZKALLER ?=
SYZKALLER_SECONDS ?= 600
SYZKALLER_SEED ?= 1
# A bug of tests/engine/sim/mutants.py that is planted in the module
SYZKALLER_PLANT ?=
# Options of fuzz.go
SYZKALLER_OPTIONS ?=

LONG_TESTS += syzkaller:module syzkaller-replay:covered
VM_TESTS += syzkaller-replay:module syzkaller-replay:module-6.1 syzkaller-replay:module-newest
TURNS += syzkaller-replay:module,syzkaller-replay:module-newest,syzkaller-replay:module-6.1

$(addprefix $(BUILD)/syzkaller/,peer play): LDFLAGS += -static
$(BUILD)/syzkaller/peer: $(addprefix $(OBJ)/tests/lib/,binder.o binder_port.o)
$(addprefix $(BUILD)/syzkaller/,peer play): $(BUILD)/syzkaller/%: $(OBJ)/$(SYZKALLER_DIR)/%.o
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^

syzkaller.needs := $(BUILD)/syzkaller/peer
syzkaller.run = $(SYZKALLER_DIR)/run "$(SYZKALLER)" $(SYZKALLER_SECONDS) "$(SYZKALLER_PLANT)" \
	-seed $(SYZKALLER_SEED) $(SYZKALLER_OPTIONS)

syzkaller-replay.needs := $(BUILD)/syzkaller/peer $(BUILD)/syzkaller/play
# $(1): the kernel, $(2): modules
syzkaller_replay = vm/run --kernel $(1) --append slub_debug=FZP --timeout 600 -- \
	$(SYZKALLER_DIR)/inside syzkaller-replay /tmp/stats $(abspath $(2)) -- \
	$(abspath $(BUILD)/syzkaller/play $(SYZKALLER_DIR)/corpus) /dev --mount
$(foreach kernel,6.1 6.12 newest,$(eval \
	syzkaller-replay.module-$(kernel).run = $$(call \
	syzkaller_replay,$(kernel),$(BUILD)/module/$(kernel)/anybinder.ko))$(eval \
	syzkaller-replay.module-$(kernel).needs := module-$(kernel)))
syzkaller-replay.module.run = $(syzkaller-replay.module-6.12.run)
syzkaller-replay.module.needs := module-6.12
syzkaller-replay.covered.run = $(SYZKALLER_DIR)/covered $(abspath $(BUILD))/syzkaller/covered && \
	$(call syzkaller_replay,6.12,$(addprefix $(BUILD)/syzkaller/,kcov/anybinder_kcov.ko \
	covered/anybinder.ko))
