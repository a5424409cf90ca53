# SPDX-License-Identifier: GPL-2.0
#
# Everything on arm64: cross-built into build/arm64, and run on Debian's arm64 kernels in QEMU.
#
#   module, module-6.1  the module is built without a warning; conformance; loading and unloading
#   fuse, fuse-plain    conformance of the daemon, with passthrough and without
#   inject              files put into receivers of 64 bits, in all conditions
#   compat              programs of 64 and of 32 bits (thumb and arm state) call each other
#   clients-fuse, clients-module  real clients and services (rsbinder)
ARM64_KERNEL := 6.12-arm64
ARM64_BUILD := $(BUILD)/arm64
ARM64_BIN := $(ARM64_BUILD)/bin
ARM64_MAKE = HOST_CC=gcc RUSTC=$(abspath $(BUILD)/vm/rust-arm64/rustc) CARGO_BUILD_JOBS=2 \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$(ARM64_CC) $(MAKE) --no-print-directory \
	BUILD=$(ARM64_BUILD) CC=$(ARM64_CC) RUST_TARGET=aarch64-unknown-linux-gnu
ARM64_PROGRAMS := $(addprefix $(ARM64_BIN)/,anybinder-conformance anybinderd inject_test \
	peer32 peer32arm peer64 anybinder rsb_hub client-tests)
ARM64_TESTS := $(addprefix arm64:,module module-6.1 fuse fuse-plain inject compat clients-fuse \
	clients-module)

LONG_TESTS += $(ARM64_TESTS)

.PHONY: vm-test-arm64 vm-fetch-arm64 arm64-programs
# vm-test-arm64: module, daemon, tools and real clients on Debian's arm64 kernels, cross-built
vm-test-arm64:
	@scripts/setup build test vm arm64
	@$(MAKE) --no-print-directory vm-fetch
	@$(call pytest,1,) --long -k arm64

vm-fetch-arm64: build/vm/init-arm64
	vm/foreign.sh arm64
	vm/rust.sh arm64
	vm/fetch --headers $(ARM64_KERNEL) 6.1-arm64

arm64-programs:
	+@$(ARM64_MAKE) $(ARM64_PROGRAMS)

arm64.needs := vm-fetch-arm64 arm64-programs
arm64.module.run = mkdir -p $(BIN); tests/kernel/vm/kernels $(ARM64_KERNEL)
arm64.module-6.1.run = mkdir -p $(BIN); tests/kernel/vm/kernels 6.1-arm64

# $(call arm64_guest,SECONDS): runs a command there. The limits are those of hangs, not of a slow
# machine: with the processors shared by ten others, a run takes ten times as long.
arm64_guest = vm/run --kernel $(ARM64_KERNEL) --driver none --timeout $(1) \
	--env ANYBINDER_BIN=$(abspath $(ARM64_BIN)) --
arm64.run = $(call arm64_guest,3600) tests/drivers/conformance/run_backend.py $(variant) --timeout 360

# Its tests use the loopback interface.
arm64.inject.run = $(call arm64_guest,1800) sh -c "ip link set lo up && $(ARM64_BIN)/inject_test"
arm64.compat.run = $(call arm64_guest,900) tests/drivers/compat/pairs.py daemon peer32 peer32arm peer64
arm64.clients-fuse.run = $(call arm64_guest,3600) sh -c 'set -- $$0/anybinder --mount /run/m --state-dir /run/s; \
	"$$@" up && $$0/client-tests --timeout 900 --mount /run/m; status=$$?; "$$@" down; exit $$status' $(abspath $(ARM64_BIN))
arm64.clients-module.needs := module-$(ARM64_KERNEL)
arm64.clients-module.run = vm/run --kernel $(ARM64_KERNEL) --driver module --timeout 3600 -- \
	$(ARM64_BIN)/client-tests --timeout 900 --manager $(ARM64_BIN)/rsb_hub --insecure-allow-all
