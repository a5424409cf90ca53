# SPDX-License-Identifier: Apache-2.0
# Real clients: services and clients of the rsbinder crate, each a separate process.
CLIENT_TESTS := $(BIN)/client-tests

$(CLIENT_TESTS): $(shell find tests/drivers/clients tools/client -type f) tools/Cargo.toml tools/Cargo.lock
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,client-tests)$(RUST_BUILD_PROGRAM) client-tests
	$(Q)install $(RUST_RELEASE)/client-tests $@
$(CLIENT_TESTS): | $(BIN)/rsb_hub
