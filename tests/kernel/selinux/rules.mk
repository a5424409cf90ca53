# SPDX-License-Identifier: GPL-2.0
#
# Security contexts and refusals of a security module that is there: SELinux with a policy of its own, in
# Debian's kernels, which have it and do not use it.
#
#   ref, module, daemon         on the driver that the expectations come from, on the module, on the daemon
#   module-newest               on a kernel whose functions for contexts are others (6.14)
#   ref-newest, module-5.10, module-6.1, module-6.12-rt  on request
VM_TESTS += selinux:ref selinux:module selinux:module-newest selinux:daemon
LONG_TESTS += selinux:ref-newest selinux:module-5.10 selinux:module-6.1 selinux:module-6.12-rt
# For ref and ref-newest see tests/drivers/clients/rules.mk.
TURNS += selinux:module,selinux:module-newest,selinux:module-6.1,selinux:module-6.12-rt

SELINUX_POLICY := $(BUILD)/selinux/policy
# The newest version that all kernels of vm/kernels.tsv know (5.5 and later).
SELINUX_POLICY_VERSION := 33

$(SELINUX_POLICY): tests/kernel/selinux/policy.cil
	@mkdir -p $(@D)
	$(Q)$(call need,secilc)$(call say,SECILC,$@)secilc -c $(SELINUX_POLICY_VERSION) -o $@ -f /dev/null $<

selinux.needs := $(BIN)/anybinder-conformance $(BIN)/anybinder $(SELINUX_POLICY)

# $(1): the kernel, $(2): the driver of vm/run, $(3): what tests/kernel/selinux/inside tests
selinux_run = vm/run --kernel $(1) --driver $(2) --append security=selinux --timeout 900 -- \
	tests/kernel/selinux/inside $(SELINUX_POLICY) $(3)
selinux.ref.run = $(call selinux_run,6.12,ref,kernel)
selinux.ref-newest.run = $(call selinux_run,newest,ref,kernel)
selinux.module.run = $(call selinux_run,6.12,module,kernel)
selinux.module.needs := module-6.12
$(foreach kernel,newest 5.10 6.1 6.12-rt,$(eval selinux.module-$(kernel).run = \
	$$(call selinux_run,$(kernel),module,kernel))$(eval selinux.module-$(kernel).needs := module-$(kernel)))
selinux.daemon.run = $(call selinux_run,6.12,none,daemon)
selinux.daemon.needs := $(BIN)/anybinderd
