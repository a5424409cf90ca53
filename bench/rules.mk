# SPDX-License-Identifier: GPL-2.0
# The programs that measure one cell of a comparison; `anybinder bench` makes comparisons of them.
# bench-ipc knows the peers that need no library, bench-peers every one. See docs/PERFORMANCE.md.
BENCH_PLAIN := bench/main.c bench/stage.c bench/histogram.c bench/seat.c bench/payload.c \
	bench/wire.c bench/registry.c bench/crowd.c bench/binder.c bench/stream.c bench/futex.c bench/entry.c \
	bench/stages.c bench/alloc.c
BENCH_EVERY := bench/dbus.c bench/broker.c bench/rpc.c bench/every.c

PROGRAMS += $(BIN)/bench-ipc
$(BIN)/bench-ipc: $(BENCH_PLAIN:%.c=$(OBJ)/%.o) $(OBJ)/bench/plain.o

# Those that are written in Rust; their crates take longer to build than all others together.
RPC_PEERS := $(CARGO_TARGET_DIR)/release/libbench_peers.a
$(RPC_PEERS): $(shell find tools/bench-peers -type f) tools/Cargo.toml tools/Cargo.lock
	$(Q)$(call say,CARGO,bench-peers)$(RUST_BUILD) -p bench-peers && touch $@

# Not in PROGRAMS: it needs what nothing else does (scripts/setup bench).
$(BIN)/bench-peers: LDLIBS += -lsystemd -lgcc_s -lm
$(BIN)/bench-peers: $(BENCH_PLAIN:%.c=$(OBJ)/%.o) $(BENCH_EVERY:%.c=$(OBJ)/%.o) $(RPC_PEERS)
$(BENCH_EVERY:%.c=$(OBJ)/%.o): | bench-setup

# Instant when everything is there.
.PHONY: bench-setup
bench-setup:
	@scripts/setup bench

BENCH_TARGETS += bench-peers

# Arguments for bench/run: make bench BENCH_ARGS=--quick
bench-peers: $(BIN)/bench-peers $(BIN)/bench-ipc $(BIN)/anybinder $(BIN)/anybinderd
	@bench/run $(BENCH_ARGS)
