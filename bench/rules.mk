# SPDX-License-Identifier: GPL-2.0
# The programs that measure one cell of a comparison; `anybinder bench` makes comparisons of them.
# bench-ipc has the peers that need no library, bench-peers all. See docs/TESTING.md.
comma := ,
BENCH_PLAIN := $(patsubst %,bench/%.c,main cell wire idle_clients \
	calls operations stream futex disturb heap_apps) \
	tests/lib/binder.c tests/lib/binder_port.c
BENCH_ALL := $(patsubst %,bench/%.c,dbus broker)

PROGRAMS += $(BIN)/bench-ipc
$(BIN)/bench-ipc: $(BENCH_PLAIN:%.c=$(OBJ)/%.o)

# The peers that are written in Rust; their crates take longer to build than all others together.
RPC_PEERS := $(CARGO_TARGET_DIR)/release/libbench_peers.a
$(RPC_PEERS): $(shell find tools/bench-peers tools/rpc -type f) tools/Cargo.toml tools/Cargo.lock
	$(Q)$(call say,CARGO,bench-peers)$(RUST_BUILD) --config tools/peers.toml -p bench-peers && touch $@

# Not in PROGRAMS: it needs packages that nothing else needs (scripts/setup bench).
# bench/main.c can do without these peers, so the linker has to be told to look for them.
$(BIN)/bench-peers: LDLIBS += -lsystemd -lgcc_s -lm
$(BIN)/bench-peers: LDFLAGS += $(addprefix -Wl$(comma)-u$(comma)peer_, \
	grpc capnp grpc_tls rpc_tls link link_accessor framework lookup)
$(BIN)/bench-peers: $(BENCH_PLAIN:%.c=$(OBJ)/%.o) $(BENCH_ALL:%.c=$(OBJ)/%.o) $(RPC_PEERS)
$(BENCH_ALL:%.c=$(OBJ)/%.o): | bench-setup

# Before the peers are compiled.
.PHONY: bench-setup
bench-setup:
	@scripts/setup bench

BENCH ?= targets --output $(BUILD)/bench
# The kernels that BENCH names; without a name those that `anybinder bench vm` takes.
BENCH_KERNELS = $(or $(filter $(MODULE_ALL_KVERS),$(subst $(comma), ,$(BENCH))), \
	6.12 $(if $(filter alloc,$(BENCH)),6.1))
BENCH_NEEDS = $(if $(filter vm,$(BENCH)), \
	vm-fetch $(BENCH_KERNELS:%=module-%) $(BENCH_KERNELS:%=module-locking-%), \
	$(BIN)/bench-peers)

.PHONY: bench
## bench: measurements, by default beside other IPC (BENCH="vm count --kernel 6.12": docs/TESTING.md)
bench: all
	@$(MAKE) --no-print-directory $(BENCH_NEEDS)
	@$(BIN)/anybinder bench $(BENCH)
