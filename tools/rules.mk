# SPDX-License-Identifier: Apache-2.0
# The Rust programs: the anybinder command, and rsb_hub, another service manager. One
# cargo run builds both, so that their common crates are compiled once.
RUST_SOURCES := $(shell find $(addprefix tools/,anybinder bench client driver events mount parcel rpc servicemanager) -type f) \
	tools/Cargo.toml tools/Cargo.lock
# With RUST_TARGET, for another architecture than this machine's.
RUST_BUILD = scripts/setup --check-rust && \
	scripts/cargo-build $(CARGO) --release --locked --manifest-path tools/Cargo.toml \
	$(if $(RUST_TARGET),--target $(RUST_TARGET))
RUST_RELEASE := $(CARGO_TARGET_DIR)/$(if $(RUST_TARGET),$(RUST_TARGET)/)release

PROGRAMS += $(BIN)/anybinder $(BIN)/rsb_hub

$(BIN)/anybinder $(BIN)/rsb_hub &: $(RUST_SOURCES)
	@mkdir -p $(BIN)
	$(Q)$(call say,CARGO,anybinder rsb_hub)$(RUST_BUILD) -p anybinder -p rsbinder-tools \
		--bin anybinder --bin rsb_hub
	$(Q)for program in anybinder rsb_hub; do \
		install $(RUST_RELEASE)/$$program $(BIN)/$$program; done

LINT_TARGETS += lint-rust
lint-rust:
	$(CARGO) fmt --manifest-path tools/Cargo.toml --all --check
	$(CARGO) clippy --quiet --release --locked --manifest-path tools/Cargo.toml --workspace \
		--all-targets -- -D warnings

demo-run: all
	@$(BIN)/anybinder demo
