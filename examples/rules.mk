# SPDX-License-Identifier: Apache-2.0
# The examples, built and run:
#
#   rust        the service and the client in Rust, on the daemon
#   restart     the daemon is killed and started again under those in Rust, which begin anew
#   module      the same on the kernel module, with a buffer of the DMA-BUF heap
#   tutorial    the commands of docs/TUTORIAL.md; they print what it says
#   observing   the same of docs/OBSERVING.md
#   languages   those in Rust, Python and C++, each with each, and the tutorial's section about them;
#               in a Debian that has libgbinder, hence needs root and the network
EXAMPLES := $(BIN)/board-service $(BIN)/board-client $(BIN)/faulty
EXAMPLE_PACKAGES := examples/rust examples/faulty

.PHONY: examples
## examples: build the example services and clients in Rust
examples: $(EXAMPLES)

# Packages of their own, to be copied; here they are built with the versions of tools/.
EXAMPLE_LOCKS := $(addsuffix /Cargo.lock,$(EXAMPLE_PACKAGES))
$(EXAMPLE_LOCKS): tools/Cargo.lock
	@cp $< $@

$(EXAMPLES) &: $(shell find $(EXAMPLE_PACKAGES) examples/aidl -type f -not -name Cargo.lock) $(EXAMPLE_LOCKS)
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,$(notdir $(EXAMPLES)))scripts/setup --check-rust && \
		for package in $(EXAMPLE_PACKAGES); do \
		scripts/cargo_build.py $(CARGO) --release --manifest-path $$package/Cargo.toml || exit 1; done
	$(Q)for program in $(notdir $(EXAMPLES)); do \
		install $(CARGO_TARGET_DIR)/release/$$program $(BIN)/$$program; done

TESTS += examples:rust examples:restart examples:tutorial examples:observing
VM_TESTS += examples:module
LONG_TESTS += examples:languages
examples.needs := all $(EXAMPLES)

examples.rust.run = timeout 600 examples/test $(BIN)
examples.restart.run = timeout 300 examples/test $(BIN) --system
examples.tutorial.run = timeout 900 examples/tutorial --except 'In Python and in C++'
examples.observing.run = timeout 600 examples/tutorial --page OBSERVING.md
examples.languages.run = examples/test-languages $(BIN)

# 6.1 has no heap of its own.
examples.module.needs := module-6.1
examples.module.run = vm/run --kernel 6.1 --driver module --timeout 300 -- sh -c \
	'insmod $(BUILD)/module/6.1/anybinder_heap.ko && exec examples/test $(BIN) --kernel'

LINT_TARGETS += lint-examples
lint-examples: $(EXAMPLE_LOCKS)
	for package in $(EXAMPLE_PACKAGES); do \
		$(CARGO) fmt --manifest-path $$package/Cargo.toml --check && \
		$(CARGO) clippy --quiet --release --manifest-path $$package/Cargo.toml \
			--all-targets -- -D warnings || exit 1; done
