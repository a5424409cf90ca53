# SPDX-License-Identifier: Apache-2.0
EXAMPLES := $(BIN)/board-service $(BIN)/board-client

.PHONY: examples
## examples: build the example services and clients in Rust
examples: $(EXAMPLES)

# A package of its own, to be copied; here it is built with the versions of tools/.
EXAMPLE_LOCK := examples/rust/Cargo.lock
$(EXAMPLE_LOCK): tools/Cargo.lock
	@cp $< $@

$(EXAMPLES) &: $(shell find examples/rust examples/aidl -type f -not -name Cargo.lock) $(EXAMPLE_LOCK)
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,$(notdir $(EXAMPLES)))scripts/setup --check-rust && \
		scripts/cargo_build.py $(CARGO) build --release --manifest-path examples/rust/Cargo.toml
	$(Q)for program in $(notdir $(EXAMPLES)); do \
		install $(CARGO_TARGET_DIR)/release/$$program $(BIN)/$$program; done

# In C++, quickly compiled, from what the compiler of Debian writes.
CPP_EXAMPLES := $(addprefix $(BIN)/cpp/,board-service board-client)
$(CPP_EXAMPLES) &: $(shell find examples/cpp examples/aidl tools/ndk/include -type f) \
		| $(BUILD)/aidl/aidl $(BUILD)/lib/libbinder_ndk.so
	$(Q)$(call say,MAKE,examples/cpp)$(MAKE) -s -C examples/cpp OUT=$(abspath $(BIN)/cpp) AIDL=$(abspath $(AIDL)) \
		CXXFLAGS="-O0 -Wall -Wextra -Werror" NDK_CFLAGS=-I$(abspath tools/ndk/include) \
		NDK_LIBS="-L$(abspath $(LIB)) -lbinder_ndk -Wl,-rpath,$(abspath $(LIB))"

# What the tests run (test_*.py).
TEST_PROGRAMS += $(EXAMPLES) $(CPP_EXAMPLES)

LINT_TARGETS += lint-examples
lint-examples: $(EXAMPLE_LOCK)
	$(CARGO) fmt --manifest-path examples/rust/Cargo.toml --check
	$(CARGO) clippy --quiet --release --manifest-path examples/rust/Cargo.toml \
		--all-targets -- -D warnings
