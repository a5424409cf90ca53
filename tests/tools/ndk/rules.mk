# SPDX-License-Identifier: Apache-2.0
# What test_ndk.py runs: ends by what the .aidl compilers of Debian write, and one of rsbinder.
NDK_PEERS := $(BIN)/hard-peer $(BIN)/old-peer
TEST_PROGRAMS += $(BIN)/hard-rust $(NDK_PEERS) $(BIN)/ndk-by-hand

# The compilers of Android 14 and 10.
AIDL := $(BUILD)/aidl/aidl
$(AIDL) $(BUILD)/aidl-10/aidl:
	$(Q)$(call say,FETCH,$@)tests/tools/aidl_compiler.sh $(@D) $(if $(filter $(AIDL),$@),sid,bookworm)

NDK_HEADERS := $(wildcard tools/ndk/include/android/*)
$(BIN)/hard-peer: $(wildcard tests/tools/ndk/aidl/hard/*) | $(AIDL)
$(BIN)/old-peer: $(wildcard tests/tools/ndk/aidl/old/*) | $(BUILD)/aidl-10/aidl
$(NDK_PEERS): $(wildcard tests/tools/ndk/*peer.*) tests/tools/ndk/build.sh $(NDK_HEADERS) | $(NDK_LIBRARY)
	$(Q)$(call say,CXX,$@)tests/tools/ndk/build.sh $@ $(NDK_LIBRARY) $(filter %/aidl,$|)

$(BIN)/ndk-by-hand: tests/tools/ndk/by_hand.c $(NDK_HEADERS) | $(NDK_LIBRARY)
	$(Q)$(call say,CC,$@)$(CC) -std=gnu11 -Wall -Wextra -Werror -fsanitize=address -I tools/ndk/include \
		-o $@ $< -L $(LIB) -lbinder_ndk -Wl,-rpath,$(abspath $(LIB)) -pthread

$(BIN)/hard-rust: $(shell find tests/tools/ndk/aidl/hard tests/tools/ndk/peer -type f) tools/Cargo.toml \
		tools/Cargo.lock | $(BIN)/anybinder $(CLIENT_TESTS)
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,hard-rust)$(RUST_BUILD) $(RUST_PACKAGES) -p hard-rust --bin hard-rust
	$(Q)install $(RUST_RELEASE)/hard-rust $@
