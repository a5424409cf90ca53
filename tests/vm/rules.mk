# SPDX-License-Identifier: GPL-2.0
#
# A guest whose kernel complains fails the run: known lines here, real runs there.

TEST_TARGETS += test-vm-complaints
VM_TEST_TARGETS += vm-test-complaints

.PHONY: test-vm-complaints vm-test-complaints

test-vm-complaints:
	@tests/vm/complaints

vm-test-complaints:
	@tests/vm/complaints 6.12
