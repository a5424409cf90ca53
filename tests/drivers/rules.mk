# SPDX-License-Identifier: GPL-2.0
#
# The suites that run on devices, of any driver.

# The conformance suite: one static program (it also runs in a bare virtual machine) and its back ends.

CONFORMANCE_DIR := tests/drivers/conformance
CONFORMANCE_SRC := $(wildcard $(CONFORMANCE_DIR)/*.c $(CONFORMANCE_DIR)/lib/*.c $(CONFORMANCE_DIR)/harness/*.c tests/lib/*.c)
CONFORMANCE_OBJ := $(CONFORMANCE_SRC:%.c=$(OBJ)/%.o)

$(CONFORMANCE_OBJ): CPPFLAGS += -Itests -I$(CONFORMANCE_DIR)/lib
$(BIN)/anybinder-conformance: LDFLAGS += -static
$(BIN)/anybinder-conformance: $(CONFORMANCE_OBJ)

PROGRAMS += $(BIN)/anybinder-conformance

# The daemon with musl, which has no headers of the kernel: only those are added.
MUSL_BUILD := $(BUILD)/musl
.PHONY: musl-daemon
musl-daemon:
	@scripts/setup musl
	@mkdir -p $(MUSL_BUILD)/include
	@ln -sfn /usr/include/linux /usr/include/asm-generic $(MUSL_BUILD)/include/
	@ln -sfn /usr/include/$$($(CC) -print-multiarch)/asm $(MUSL_BUILD)/include/asm
	@$(MAKE) --no-print-directory BUILD=$(MUSL_BUILD) CC=musl-gcc EXTRA_LDFLAGS=-static \
		EXTRA_CFLAGS="-idirafter $(MUSL_BUILD)/include" $(MUSL_BUILD)/bin/anybinderd

# The differential run: one static program that plays scripts, and a script that compares the
# transcripts of the reference with those of the module and of the daemon.

DIFFERENTIAL_DIR := tests/drivers/differential
DIFFERENTIAL_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(DIFFERENTIAL_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,actor.o actor_process.o replace.o test.o) \
	$(addprefix $(OBJ)/tests/lib/,binder.o binder_port.o)

$(OBJ)/$(DIFFERENTIAL_DIR)/%.o: CPPFLAGS += -I$(DIFFERENTIAL_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-differential: LDFLAGS += -static
$(BIN)/anybinder-differential: $(DIFFERENTIAL_OBJ)

# The same of 32 bits, of which `all` knows nothing: it needs libc6-dev-i386 and lib32gcc-12-dev.
$(eval $(call object_rule,narrow,$(CC),-m32 -idirafter /usr/include/x86_64-linux-gnu))
$(OBJ)/narrow/%.o: CPPFLAGS += -I$(DIFFERENTIAL_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-differential32: LDFLAGS += -static -m32
$(BIN)/anybinder-differential32: $(DIFFERENTIAL_OBJ:$(OBJ)/%=$(OBJ)/narrow/%)

PROGRAMS += $(BIN)/anybinder-differential

# Storms: clients killed at random while calls are in progress; on the daemon, also while it hands
# over again and again, and on the module.

STORM_DIR := tests/drivers/storm
STORM_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(STORM_DIR)/*.c)) \
	$(addprefix $(OBJ)/tests/drivers/conformance/lib/,replace.o test.o) \
	$(addprefix $(OBJ)/tests/lib/,binder.o binder_port.o)

$(OBJ)/$(STORM_DIR)/%.o: CPPFLAGS += -I$(STORM_DIR) -Itests -Itests/drivers/conformance/lib
$(BIN)/anybinder-storm: LDFLAGS += -static
$(BIN)/anybinder-storm: $(STORM_OBJ)

PROGRAMS += $(BIN)/anybinder-storm

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
COMPAT_CFLAGS := $(filter-out -g1 -pthread $(EXTRA_CFLAGS),$(CFLAGS)) -I. -ffreestanding -fno-pic \
	-fno-stack-protector -DANYBINDER_VERSION='"$(VERSION)"' -idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)

# -nostdlib: the linker would look for the C library's entry point and for 64-bit libraries.
$(COMPAT_PEERS): $(BIN)/%: tools/Cargo.toml $(COMPAT_SRC) $(wildcard $(COMPAT_DIR)/*.h tests/lib/binder*.h)
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(COMPAT_PEER_$(TARGET)_$*) $(COMPAT_CFLAGS) -nostdlib -static -no-pie \
		-o $@ $(COMPAT_SRC)

PROGRAMS += $(COMPAT_PEERS)

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
