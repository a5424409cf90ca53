# SPDX-License-Identifier: GPL-2.0
# The programs that measure one cell of a comparison; `anybinder bench` makes comparisons of them.
# bench-ipc has the peers that need no library, bench-peers all. See docs/PERFORMANCE.md.
BENCH_PLAIN := $(patsubst %,bench/%.c,main cell child histogram scheduling payload wire registry \
	idle_clients binder stream futex entry operations stages alloc pause)
BENCH_ALL := $(patsubst %,bench/%.c,dbus broker rpc far peers_all)

PROGRAMS += $(BIN)/bench-ipc
$(BIN)/bench-ipc: $(BENCH_PLAIN:%.c=$(OBJ)/%.o) $(OBJ)/bench/peers_plain.o

# The peers that are written in Rust; their crates take longer to build than all others together.
RPC_PEERS := $(CARGO_TARGET_DIR)/release/libbench_peers.a
$(RPC_PEERS): $(shell find tools/bench-peers tools/rpc -type f) tools/Cargo.toml tools/Cargo.lock
	$(Q)$(call say,CARGO,bench-peers)$(RUST_BUILD) -p bench-peers && touch $@

# Not in PROGRAMS: it needs packages that nothing else needs (scripts/setup bench).
$(BIN)/bench-peers: LDLIBS += -lsystemd -lgcc_s -lm
$(BIN)/bench-peers: $(BENCH_PLAIN:%.c=$(OBJ)/%.o) $(BENCH_ALL:%.c=$(OBJ)/%.o) $(RPC_PEERS)
$(BENCH_ALL:%.c=$(OBJ)/%.o): | bench-setup

# Does nothing if the packages are installed.
.PHONY: bench-setup
bench-setup:
	@scripts/setup bench

BENCH_TARGETS += bench-peers

# The tables of docs/RPC.md.
.PHONY: bench-link
# bench-link: calls over a link, side by side with gRPC over TLS (5 minutes; not part of bench)
bench-link: $(BIN)/bench-peers $(BIN)/anybinder $(BIN)/anybinderd
	@$(BIN)/anybinder bench throughput --peers binder,grpc-tls,rpc-tls,link,link-accessor \
		--pairs 1,4 --sizes 0,4k,64k --output $(BUILD)/bench/link \
		$(or $(BENCH_ARGS),--rounds 10 --duration-ms 1000)
	@echo; bench/tables $(BUILD)/bench/link/throughput.json

# Arguments for bench/handover: make bench-handover BENCH_ARGS="--hand-overs 200"
.PHONY: bench-handover
# bench-handover: for how long clients wait when the daemon is replaced (a minute)
bench-handover: $(BIN)/bench-ipc $(BIN)/anybinderd
	@bench/handover $(BENCH_ARGS)

BENCH_TARGETS += bench-handover

# Arguments for bench/run, too: make bench BENCH_ARGS=--quick
bench-peers: $(BIN)/bench-peers $(BIN)/bench-ipc $(BIN)/anybinder $(BIN)/anybinderd $(BIN)/anybinderd-locking
	@bench/run $(BENCH_ARGS)
