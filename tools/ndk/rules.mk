# SPDX-License-Identifier: Apache-2.0
# The C API of the NDK: a shared library, with the version of each symbol that it has on Android.
LIB := $(BUILD)/lib
NDK_LIBRARY := $(LIB)/libbinder_ndk.so

all: $(NDK_LIBRARY)

# Of the crate, all that the map names, and what that needs.
NDK_SOURCES := $(wildcard tools/ndk/src/* tools/ndk/Cargo.toml tools/ndk/*.map tools/Cargo.*)
LINK_NDK = $(CC) -shared -o $@ -Wl,-soname,$(@F) -Wl,--version-script=tools/ndk/libbinder_ndk.map \
	-Wl,--whole-archive $(RUST_RELEASE)/libbinder_ndk.a -Wl,--no-whole-archive \
	-Wl,--as-needed,--gc-sections,-z,relro,-z,now,-z,defs,-s -lgcc_s -lm

# After the command, whose crates it shares: cargo locks its directory.
$(LIB)/libbinder_ndk.so.1: $(NDK_SOURCES) | $(BIN)/anybinder
	@mkdir -p $(@D)
	$(Q)$(call say,CARGO,$(@F))$(RUST_BUILD) $(RUST_PACKAGES) -p binder-ndk --lib
	$(Q)$(LINK_NDK)

# Beside the static programs, and from their crates.
$(BIN)/static/libbinder_ndk.so.1: $(NDK_SOURCES) | $(BIN)/static/anybinder
	$(Q)$(call say,CARGO,$@)$(RUST_BUILD) --config tools/archive.toml -p anybinder -p binder-ndk --lib
	$(Q)$(LINK_NDK)

$(NDK_LIBRARY): $(LIB)/libbinder_ndk.so.1
	$(Q)ln -sf $(<F) $@

.PHONY: install-ndk
# install-ndk: install the library, its headers, and its pkg-config and CMake files (PREFIX)
install-ndk: $(LIB)/libbinder_ndk.so.1
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' tools/ndk/install-ndk $< $(VERSION)
