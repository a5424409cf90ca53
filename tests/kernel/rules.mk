# SPDX-License-Identifier: GPL-2.0
#
# What the tests of kernels need, and those that run on request.

# Every kernel of vm/kernels.tsv, half an hour and more; a few: make vm-test-kernels KERNELS="5.10 7.2"
.PHONY: vm-test-kernels
# vm-test-kernels: the module on every kernel of vm/kernels.tsv, not only those of vm-test
vm-test-kernels: $(BIN)/anybinder-conformance $(BIN)/anybinder-heap-test build/vm/init
	vm/fetch --headers newest
	vm/reference-driver.sh newest
	tests/kernel/vm/kernels.py $(KERNELS)

# The policy that the tests of security contexts load.
SELINUX_POLICY := $(BUILD)/selinux/policy
# The newest version that all kernels of vm/kernels.tsv know (5.5 and later).
SELINUX_POLICY_VERSION := 33

$(SELINUX_POLICY): tests/kernel/selinux/domains.cil
	@mkdir -p $(@D)
	$(Q)$(call need,secilc)$(call say,SECILC,$@)secilc -c $(SELINUX_POLICY_VERSION) -o $@ -f /dev/null $<

# Everything on arm64: cross-built (vm/rules.mk), and run on Debian's arm64 kernels in QEMU.
ARM64_KERNEL := 6.12-arm64
ARM64_PROGRAMS := $(addprefix $(ARM64_BIN)/,anybinder-conformance anybinderd inject_test \
	peer32 peer32arm peer64 anybinder rsb_hub client-tests)

.PHONY: vm-test-arm64 vm-fetch-arm64 arm64-programs
# vm-test-arm64: module, daemon, tools and real clients on Debian's arm64 kernels, cross-built
vm-test-arm64:
	@scripts/setup build test vm arm64 archive-arm64
	@$(MAKE) --no-print-directory vm-fetch
	@$(call pytest,1,) --vm --long tests/kernel/arm64

vm-fetch-arm64: build/vm/init-arm64
	vm/foreign.sh arm64
	vm/rust.sh arm64
	vm/fetch --headers $(ARM64_KERNEL) 6.1-arm64

arm64-programs:
	+@$(ARM64_MAKE) $(ARM64_PROGRAMS)

# Random programs of syzkaller, guided by the coverage of the module, on Debian's 6.12 with its slab
# checks; on request, not in CI: they want Go and a checkout of syzkaller. Those that reached
# the most (corpus) are played again without both, by test_replay_module.py and tests/daemon.
$(BUILD)/syzkaller/peer: LDFLAGS += -static
$(BUILD)/syzkaller/peer: $(addprefix $(OBJ)/tests/,kernel/syzkaller/peer.o lib/binder.o lib/binder_port.o)
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^
