# SPDX-License-Identifier: Apache-2.0
# The end of rsbinder that what the NDK's compiler writes is tried with (test_ndk.py).
TEST_PROGRAMS += $(BIN)/hard-rust

$(BIN)/hard-rust: $(shell find tests/tools/ndk/aidl tests/tools/ndk/peer -type f) tools/Cargo.toml \
		tools/Cargo.lock | $(BIN)/anybinder $(CLIENT_TESTS)
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,hard-rust)$(RUST_BUILD) $(RUST_PACKAGES) -p hard-rust --bin hard-rust
	$(Q)install $(RUST_RELEASE)/hard-rust $@
