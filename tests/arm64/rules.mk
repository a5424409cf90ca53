# SPDX-License-Identifier: GPL-2.0
#
# Everything on arm64: cross-built into build/arm64, and run on Debian's arm64 kernels in QEMU.
#
#   module, module-6.1  the module is built without a warning; its conformance; loading and unloading
#   fuse, fuse-plain    conformance of the daemon, with passthrough and without
ARM64_KERNEL := 6.12-arm64
ARM64_BUILD := $(BUILD)/arm64
ARM64_BIN := $(ARM64_BUILD)/bin
ARM64_MAKE = $(MAKE) --no-print-directory BUILD=$(ARM64_BUILD) CC=$(ARM64_CC)
ARM64_TESTS := $(addprefix arm64:,module module-6.1 fuse fuse-plain)

LONG_TESTS += $(ARM64_TESTS)

.PHONY: vm-test-arm64 vm-fetch-arm64 arm64-programs
## vm-test-arm64: the module and the daemon on Debian's arm64 kernels, cross-built
vm-test-arm64:
	@scripts/setup build test vm arm64
	@$(MAKE) --no-print-directory vm-fetch
	@scripts/run-tests --record $(BUILD)/vm-test-arm64.total --timeout-s 1800 $(ARM64_TESTS)

vm-fetch-arm64: build/vm/init-arm64
	vm/foreign arm64
	vm/fetch --headers $(ARM64_KERNEL) 6.1-arm64

arm64-programs:
	+@$(ARM64_MAKE) $(ARM64_BIN)/anybinder-conformance $(ARM64_BIN)/anybinderd

arm64.needs := vm-fetch-arm64 arm64-programs
arm64.module.run = mkdir -p $(BIN); tests/vm/kernels $(ARM64_KERNEL)
arm64.module-6.1.run = mkdir -p $(BIN); tests/vm/kernels 6.1-arm64

# $(call arm64_guest,SECONDS): runs a command there.
arm64_guest = vm/run --kernel $(ARM64_KERNEL) --driver none --timeout $(1) \
	--env ANYBINDER_BIN=$(abspath $(ARM64_BIN)) --
arm64.run = $(call arm64_guest,1800) tests/conformance/run-backend $(variant) --timeout 120
