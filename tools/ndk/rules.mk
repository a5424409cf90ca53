# SPDX-License-Identifier: Apache-2.0
# The C API of the NDK: a shared library, with the version of each symbol that it has on Android.
LIB := $(BUILD)/lib
NDK_LIBRARY := $(LIB)/libbinder_ndk.so

all: $(NDK_LIBRARY)

# Of the archive, all that the map names, and what that needs. After the command, whose crates it
# shares: cargo locks its directory. For another architecture it is compiled alone.
$(LIB)/libbinder_ndk.so.1: $(wildcard tools/ndk/src/*) tools/ndk/Cargo.toml tools/ndk/libbinder_ndk.map \
		tools/Cargo.toml tools/Cargo.lock | $(if $(RUST_TARGET),,$(BIN)/anybinder)
	@mkdir -p $(@D)
	$(Q)$(call say,CARGO,$(@F))$(RUST_BUILD) $(if $(RUST_TARGET),,$(RUST_PACKAGES)) -p binder-ndk --lib
	$(Q)$(CC) -shared -o $@ -Wl,-soname,$(@F) -Wl,--version-script=tools/ndk/libbinder_ndk.map \
		-Wl,--whole-archive $(RUST_RELEASE)/libbinder_ndk.a -Wl,--no-whole-archive \
		-Wl,--as-needed,--gc-sections,-z,relro,-z,now,-z,defs,-s -lgcc_s -lm

$(NDK_LIBRARY): $(LIB)/libbinder_ndk.so.1
	$(Q)ln -sf $(<F) $@

.PHONY: install-ndk
# install-ndk: install the library, its headers, and its pkg-config and CMake files (PREFIX)
install-ndk: $(LIB)/libbinder_ndk.so.1
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' tools/ndk/install-ndk $< $(VERSION)
