# SPDX-License-Identifier: GPL-2.0
#
# The module beyond conformance: its life, the kernel's own self-test, stress-ng, real clients.
# `make module` decides itself what there is to build.

MODULE_TESTS := tests/module
VM_TEST_TARGETS += vm-test-module vm-test-module-clients vm-test-events vm-test-secctx \
	vm-test-reclaim vm-test-stages

.PHONY: vm-test-module vm-test-module-clients vm-test-events vm-test-secctx \
	vm-test-reclaim vm-test-stages

vm-test-module: $(BIN)/anybinder-conformance
	@for kernel in 6.12 6.1; do $(MAKE) --no-print-directory module KVER=$$kernel || exit 1; done
	@$(MODULE_TESTS)/run 6.12 6.1

# The very cases of test-clients and vm-test-clients; two of them need a minute on a busy machine.
vm-test-module-clients: all $(CLIENT_TESTS)
	@$(MAKE) --no-print-directory module KVER=6.12
	@vm/run --kernel 6.12 --driver module --timeout 600 -- \
		$(CLIENT_TESTS) --timeout 180 --manager $(BIN)/rsb_hub --insecure-allow-all

# Security contexts, where a security module supplies them: in Debian's default boot none does.
# All but the test of what happens then.
vm-test-secctx: $(BIN)/anybinder-conformance
	@$(MAKE) --no-print-directory module KVER=6.12
	@vm/run --kernel 6.12 --driver module --append security=selinux -- \
		$(BIN)/anybinder-conformance --timeout 120 --filter 'secctx_[!e]*'

# Tracepoints by the stock driver's names and with its fields.
vm-test-events: $(BIN)/anybinder-conformance
	@for kernel in 6.12 6.1; do $(MAKE) --no-print-directory module KVER=$$kernel || exit 1; done
	@$(MODULE_TESTS)/events 6.12 6.1

# What `anybinder bench stages` tells of the module.
vm-test-stages: $(BIN)/anybinder $(BIN)/bench-ipc
	@for kernel in 6.12 6.1; do $(MAKE) --no-print-directory module KVER=$$kernel || exit 1; done
	@$(MODULE_TESTS)/stages 6.12 6.1

# Idle buffer pages go, and are there again when wanted.
vm-test-reclaim: $(BIN)/anybinder-conformance $(BIN)/bench-ipc
	@$(MAKE) --no-print-directory module KVER=6.12
	@vm/run --kernel 6.12 --driver module --timeout 600 -- $(MODULE_TESTS)/reclaim
