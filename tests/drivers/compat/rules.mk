# SPDX-License-Identifier: GPL-2.0
#
# Clients of both widths. They need no C library, hence no 32-bit packages; where the compiler
# knows no -m32, or the kernel runs no 32-bit programs, the test is skipped and says so.

COMPAT_DIR := tests/drivers/compat
COMPAT_SRC := $(wildcard $(COMPAT_DIR)/*.c) tests/lib/binder.c
COMPAT_PEERS_x86_64 := $(BIN)/peer32 $(BIN)/peer64
# 32-bit code in arm state and in thumb state.
COMPAT_PEERS_aarch64 := $(BIN)/peer32arm $(BIN)/peer32 $(BIN)/peer64
COMPAT_PEERS := $(COMPAT_PEERS_$(TARGET))
COMPAT_PEER_x86_64_peer32 := $(CC) -m32
COMPAT_PEER_x86_64_peer64 := $(CC) -m64
COMPAT_PEER_aarch64_peer32 := arm-linux-gnueabihf-gcc -mthumb
COMPAT_PEER_aarch64_peer32arm := arm-linux-gnueabihf-gcc -marm
COMPAT_PEER_aarch64_peer64 := $(CC)
COMPAT_CFLAGS := $(filter-out -g -pthread $(EXTRA_CFLAGS),$(CFLAGS)) -I. -ffreestanding -fno-pic \
	-fno-stack-protector -DANYBINDER_VERSION='"$(VERSION)"' -idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)

# -nostdlib: the linker would look for the C library's entry point and for 64-bit libraries.
$(COMPAT_PEERS): $(BIN)/%: tools/Cargo.toml $(COMPAT_SRC) $(wildcard $(COMPAT_DIR)/*.h tests/lib/binder*.h)
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(COMPAT_PEER_$(TARGET)_$*) $(COMPAT_CFLAGS) -nostdlib -static -no-pie \
		-o $@ $(COMPAT_SRC)

PROGRAMS += $(COMPAT_PEERS)
