# SPDX-License-Identifier: Apache-2.0
# The anybinder command, and the device plugin for Kubernetes.
RUST_SOURCES := $(shell find $(addprefix tools/,anybinder bench cli client driver events fake mount parcel rpc servicemanager) -type f) \
	tools/Cargo.toml tools/Cargo.lock
# With RUST_TARGET, for another architecture than this machine's.
RUST_BUILD = $(call RUST_RUN,build)
RUST_RUN = scripts/setup --check-rust && \
	scripts/cargo_build.py $(CARGO) $(1) --release --locked --manifest-path tools/Cargo.toml \
	$(if $(RUST_TARGET),--target $(RUST_TARGET)) $(if $(DEMO),--config tools/demo.toml)
# The features of a crate are those that all packages named on the command line ask for: with the
# same names for each program, their common crates are compiled once.
RUST_PACKAGES := -p anybinder -p rsbinder-tools -p client-tests
RUST_BUILD_PROGRAM = $(RUST_BUILD) $(RUST_PACKAGES) --bin
RUST_RELEASE := $(CARGO_TARGET_DIR)/$(if $(RUST_TARGET),$(RUST_TARGET)/)release

PROGRAMS += $(BIN)/anybinder

# With DEMO=y, compiled in less time, and older than its sources: make without it compiles it anew.
# Set on the command line only.
DEMO :=
$(BIN)/anybinder: $(RUST_SOURCES)
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,anybinder)$(RUST_BUILD_PROGRAM) anybinder
	$(Q)install $(RUST_RELEASE)/anybinder $@
	$(if $(DEMO),@touch -d @0 $@)

# Linked with the C library, and small.
$(BIN)/static/anybinder: $(RUST_SOURCES)
	@mkdir -p $(@D)
	$(Q)$(call say,CARGO,$@)$(call RUST_RUN,rustc) --config tools/archive.toml \
		-p anybinder --bin anybinder -- -C target-feature=+crt-static -C strip=symbols
	$(Q)install $(RUST_RELEASE)/anybinder $@

# Not in PROGRAMS: only a cluster needs it, and its crates take long to build. After the command, also
# with make -j: cargo locks its directory.
TEST_PROGRAMS += $(BIN)/anybinder-device-plugin
.PHONY: device-plugin
# device-plugin: the device plugin for Kubernetes, build/bin/anybinder-device-plugin
device-plugin: $(BIN)/anybinder-device-plugin
$(BIN)/anybinder-device-plugin: $(shell find $(addprefix tools/,cli device-plugin mount) -type f) tools/Cargo.toml \
		tools/Cargo.lock | $(BIN)/anybinder
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,anybinder-device-plugin)$(RUST_BUILD) \
		$(RUST_PACKAGES) -p anybinder-device-plugin --bin anybinder-device-plugin
	$(Q)install $(RUST_RELEASE)/$(@F) $@

LINT_TARGETS += lint-rust
lint-rust:
	$(CARGO) fmt --manifest-path tools/Cargo.toml --all --check
	$(CARGO) clippy --quiet --release --locked --manifest-path tools/Cargo.toml --workspace \
		--all-targets -- -D warnings
