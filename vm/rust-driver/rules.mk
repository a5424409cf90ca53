# SPDX-License-Identifier: GPL-2.0
# The Rust driver of mainline as a further reference; on request, not in CI: it takes an hour.

# Number of differential scripts.
VM_RUST_SEEDS ?= 45
VM_RUST_BENCH = $(BIN)/anybinder bench vm $(1) --drivers ref,rust,module --output $(BUILD)/bench/rust

.PHONY: vm-rust vm-rust-run
# vm-rust: the Rust driver, the C driver and the module on one kernel; an hour
vm-rust:
	@scripts/setup build test vm
	@$(MAKE) --no-print-directory vm-rust-run

# vm-rust-run: the same on a machine that is set up
# Each stage says what it does and keeps its results; an interrupted run continues.
vm-rust-run: $(BIN)/anybinder-conformance $(BIN)/anybinder-differential $(BIN)/anybinder \
		$(BIN)/bench-ipc build/vm/init
	vm/rust-driver/build.sh
	vm/ref.sh newest
	$(Q)$(MAKE) --no-print-directory module KVER=newest
	/usr/bin/python3 -m pytest --long --vm -k newest-rust tests/kernel/module/test_beside.py
	vm/rust-driver/compare.py $(VM_RUST_SEEDS); found=$$?; \
		$(call VM_RUST_BENCH,count --kernel newest) && \
		$(call VM_RUST_BENCH,throughput --kernel newest) && \
		$(call VM_RUST_BENCH,alloc --kernels newest) && exit $$found
