# SPDX-License-Identifier: GPL-2.0
#
# The policy that the tests of security contexts load.
SELINUX_POLICY := $(BUILD)/selinux/policy
# The newest version that all kernels of vm/kernels.tsv know (5.5 and later).
SELINUX_POLICY_VERSION := 33

$(SELINUX_POLICY): tests/kernel/selinux/policy.cil
	@mkdir -p $(@D)
	$(Q)$(call need,secilc)$(call say,SECILC,$@)secilc -c $(SELINUX_POLICY_VERSION) -o $@ -f /dev/null $<
