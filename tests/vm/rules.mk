# SPDX-License-Identifier: GPL-2.0
#
# A complaint of a guest's kernel fails the run: tried on recorded lines, and in a virtual machine.
TESTS += source:complaints
VM_TESTS += source:complaints-vm

source.complaints.run = tests/vm/complaints
source.complaints-vm.run = tests/vm/complaints 6.12
