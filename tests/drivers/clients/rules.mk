# SPDX-License-Identifier: Apache-2.0
# Real clients: services and clients of the rsbinder crate, each a separate process.
CLIENT_TESTS := $(BIN)/client-tests

$(CLIENT_TESTS): $(shell find tests/drivers/clients tools/client -type f) tools/Cargo.toml tools/Cargo.lock
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,client-tests)$(RUST_BUILD_PROGRAM) client-tests
	$(Q)install $(RUST_RELEASE)/client-tests $@

# The service manager of the crate rsbinder-tools, unmodified, which the clients use on drivers of
# the kernel. Its version is that of tools/Cargo.lock. One after the other: cargo locks its directory.
$(BIN)/rsb_hub: tools/Cargo.toml tools/Cargo.lock | $(BIN)/anybinder $(CLIENT_TESTS)
	$(Q)$(call say,CARGO,rsb_hub)$(RUST_BUILD_PROGRAM) rsb_hub
	$(Q)install $(RUST_RELEASE)/rsb_hub $@
$(CLIENT_TESTS): | $(BIN)/anybinder
