# SPDX-License-Identifier: GPL-2.0
#
# Every kernel of vm/kernels.tsv, half an hour and more; a few: make vm-test-kernels KERNELS="5.10 7.2"
.PHONY: vm-test-kernels
# vm-test-kernels: the module on every kernel of vm/kernels.tsv, not only those of vm-test
vm-test-kernels: $(BIN)/anybinder-conformance $(BIN)/anybinder-heap-test build/vm/init
	vm/fetch --headers newest
	vm/ref.sh newest
	tests/kernel/vm/kernels.py $(KERNELS)
