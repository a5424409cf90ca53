# SPDX-License-Identifier: GPL-2.0
# make vm-fetch: downloads and builds what vm/run needs, once, in build/vm.

VM_KERNELS ?= 6.1 6.12 6.12-rt newest

# Programs for arm64 are cross-built into build/arm64, with what `vm/rust.sh arm64` unpacks.
ARM64_CC := aarch64-linux-gnu-gcc
ARM64_BUILD := $(BUILD)/arm64
ARM64_BIN := $(ARM64_BUILD)/bin
ARM64_MAKE = HOST_CC=gcc RUSTC=$(abspath $(BUILD)/vm/rust-arm64/rustc) CARGO_BUILD_JOBS=2 \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$(ARM64_CC) $(MAKE) --no-print-directory \
	BUILD=$(ARM64_BUILD) CC=$(ARM64_CC) RUST_TARGET=aarch64-unknown-linux-gnu

.PHONY: vm-fetch
## vm-fetch: the kernels, the reference driver and the init of vm/run, once
vm-fetch: build/vm/init
	vm/fetch --headers $(VM_KERNELS)
	vm/reference-driver.sh 6.12
	vm/reference-driver.sh newest

build/vm/init: vm/init.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -Wall -Wextra -Werror -O2 -static -o $@ $<

build/vm/init-arm64: vm/init.c
	@mkdir -p $(@D)
	$(call need,$(ARM64_CC))$(ARM64_CC) -std=c11 -Wall -Wextra -Werror -O2 -static -o $@ $<

# ---- debug kernels ----
# The module on debug kernels; on request, not in CI.
#
#   vm-debug-stock-KERNEL  Debian's kernels with slab poisoning, red zones and tracking enabled
#   vm-debug-kasan-KERNEL  kernels built here with KASAN, lockdep, kmemleak and fault injection
#   vm-debug-kcsan-KERNEL  the same with KCSAN. Building each takes ten minutes on two CPUs the first
#                          time.
#   vm-debug-lockdep-7.1   with lockdep alone: a kernel of which Debian has the source and no modules

VM_DEBUG_TIMEOUT_S ?= 5400
VM_DEBUG_KERNELS ?= 6.1 6.12 6.18 newest
# Options of anybinder-conformance, e.g. --filter 'txn_*'
VM_DEBUG_OPTIONS ?=
# Number of differential scripts, and of processes killed by a storm
VM_DEBUG_SEEDS ?= 50
VM_DEBUG_KILLS ?= 60
VM_DEBUG_PROGRAMS := build/vm/init $(BIN)/vm-fail-nth $(addprefix $(BIN)/anybinder-,conformance differential storm)
VM_DEBUG_RUN = vm/run --driver module --memory 2048 --timeout $(VM_DEBUG_TIMEOUT_S) \
	--env VM_DEBUG_SEEDS=$(VM_DEBUG_SEEDS) --env VM_DEBUG_KILLS=$(VM_DEBUG_KILLS)

$(BIN)/vm-fail-nth: LDFLAGS += -static
$(BIN)/vm-fail-nth: $(addprefix $(OBJ)/,vm/debug/fail_nth.o tests/lib/binder.o tests/lib/binder_port.o)

VM_DEBUG_BUILT := $(VM_DEBUG_KERNELS:%=vm-debug-kasan-%) $(VM_DEBUG_KERNELS:%=vm-debug-kcsan-%) \
	vm-debug-lockdep-7.1
.PHONY: vm-debug vm-debug-stock $(VM_DEBUG_BUILT) $(VM_DEBUG_KERNELS:%=vm-debug-stock-%)

# vm-debug: the module on debug kernels, which are built if needed
vm-debug: $(VM_DEBUG_BUILT)

# The checkers and the kernel, from the name of the target: kasan/6.12
vm_debug_kernel = $(subst -,/,$*)
$(VM_DEBUG_BUILT): vm-debug-%: $(VM_DEBUG_PROGRAMS)
	vm/debug/kernel.sh $(vm_debug_kernel)
	$(Q)$(MAKE) --no-print-directory module KVER=$(vm_debug_kernel)
	$(Q)$(MAKE) --no-print-directory module KVER=$(vm_debug_kernel) LOCKING=y
	$(VM_DEBUG_RUN) --kernel $(vm_debug_kernel) --log build/vm/$(vm_debug_kernel)/console -- \
		vm/debug/inside.sh build/module/$(vm_debug_kernel)/anybinder.ko $(BIN) $(VM_DEBUG_OPTIONS)

# vm-debug-stock: the module on Debian's kernels with their slab checks enabled
vm-debug-stock: $(VM_DEBUG_KERNELS:%=vm-debug-stock-%)

$(VM_DEBUG_KERNELS:%=vm-debug-stock-%): vm-debug-stock-%: $(VM_DEBUG_PROGRAMS)
	$(Q)$(MAKE) --no-print-directory module-$* module-locking-$*
	$(VM_DEBUG_RUN) --kernel $* --append "slub_debug=FZPU page_poison=1" -- \
		vm/debug/inside.sh build/module/$*/anybinder.ko $(BIN) $(VM_DEBUG_OPTIONS)

# ---- mainline's Rust driver ----
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
vm-rust-run: $(BIN)/anybinder-conformance $(BIN)/anybinder-differential $(BIN)/anybinder \
		$(BIN)/bench-ipc build/vm/init
	vm/rust-driver/build.sh
	vm/reference-driver.sh newest
	$(Q)$(MAKE) --no-print-directory module KVER=newest
	/usr/bin/python3 -m pytest --long --vm -k 'newest-rust or rust_driver' \
		tests/kernel/module/test_beside.py tests/tools/trace/test_rust_driver.py
	vm/rust-driver/compare.py $(VM_RUST_SEEDS); found=$$?; \
		$(call VM_RUST_BENCH,count --kernel newest) && \
		$(call VM_RUST_BENCH,throughput --kernel newest) && \
		$(call VM_RUST_BENCH,alloc --kernels newest) && exit $$found
