# SPDX-License-Identifier: GPL-2.0
#
# Everything on arm64: cross-built into build/arm64, and run on Debian's arm64 kernels in QEMU.
ARM64_KERNEL := 6.12-arm64
ARM64_BUILD := $(BUILD)/arm64
ARM64_BIN := $(ARM64_BUILD)/bin
ARM64_MAKE = HOST_CC=gcc RUSTC=$(abspath $(BUILD)/vm/rust-arm64/rustc) CARGO_BUILD_JOBS=2 \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$(ARM64_CC) $(MAKE) --no-print-directory \
	BUILD=$(ARM64_BUILD) CC=$(ARM64_CC) RUST_TARGET=aarch64-unknown-linux-gnu
ARM64_PROGRAMS := $(addprefix $(ARM64_BIN)/,anybinder-conformance anybinderd inject_test \
	peer32 peer32arm peer64 anybinder rsb_hub client-tests)

.PHONY: vm-test-arm64 vm-fetch-arm64 arm64-programs
# vm-test-arm64: module, daemon, tools and real clients on Debian's arm64 kernels, cross-built
vm-test-arm64:
	@scripts/setup build test vm arm64
	@$(MAKE) --no-print-directory vm-fetch
	@$(call pytest,1,) --vm --long tests/kernel/arm64

vm-fetch-arm64: build/vm/init-arm64
	vm/foreign.sh arm64
	vm/rust.sh arm64
	vm/fetch --headers $(ARM64_KERNEL) 6.1-arm64

arm64-programs:
	+@$(ARM64_MAKE) $(ARM64_PROGRAMS)
