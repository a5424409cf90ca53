# SPDX-License-Identifier: Apache-2.0
# Real clients: services and clients of the rsbinder crate, each a separate process.
CLIENT_TESTS := $(BIN)/client-tests

$(CLIENT_TESTS): $(shell find tests/drivers/clients tools/client -type f) tools/Cargo.toml tools/Cargo.lock
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,client-tests)$(RUST_BUILD_PROGRAM) client-tests
	$(Q)install $(RUST_RELEASE)/client-tests $@
$(CLIENT_TESTS): | $(BIN)/rsb_hub

#   fuse    on the daemon
#   bound   on the daemon, through bind mounts of its files
#   timeout on the daemon, where the kernel limits the age of requests, with a call that takes longer
#   ref     on the driver that the expectations come from; its service manager needs security contexts
#   module  on the module
LONG_TESTS += clients:timeout
TESTS += clients:fuse clients:bound
VM_TESTS += clients:ref clients:module
# The stock drivers stay the same: what else runs on them takes turns.
TURNS += clients:ref,compat:ref,selinux:ref,selinux:ref-newest
clients.needs := all $(CLIENT_TESTS)

clients.fuse.run = tests/drivers/clients/run-native
clients.bound.run = tests/drivers/clients/run-native --bound

clients.timeout.run = tests/drivers/clients/run-native --request-limit 15

clients.ref.run = vm/run --kernel 6.12 --driver ref --append security=selinux --timeout 600 -- \
	$(CLIENT_TESTS) --manager $(BIN)/rsb_hub --insecure-allow-all

clients.module.needs := module-6.12
clients.module.run = vm/run --kernel 6.12 --driver module --timeout 600 -- \
	$(CLIENT_TESTS) --timeout 180 --manager $(BIN)/rsb_hub --insecure-allow-all

# The crate's own tests. Not in `make test`: they take longer to build than all the rest.
.PHONY: test-upstream
# test-upstream: the own tests of the rsbinder crate against a daemon, also through bound files
test-upstream: all
	@tests/drivers/clients/upstream
	@tests/drivers/clients/upstream --bound
