# SPDX-License-Identifier: GPL-2.0
# make bench: binder in user space beside other IPC; see docs/PERFORMANCE.md.
BENCH_SRCS := $(wildcard bench/*.c)

# Not in PROGRAMS: it needs libsystemd, which nothing else does (scripts/setup bench).
$(BIN)/bench-ipc: LDLIBS += -lsystemd
$(BIN)/bench-ipc: $(BENCH_SRCS:%.c=$(OBJ)/%.o)
$(BENCH_SRCS:%.c=$(OBJ)/%.o): | bench-setup

# Instant when everything is there.
.PHONY: bench-setup
bench-setup:
	@scripts/setup bench

BENCH_TARGETS += bench-peers

# Arguments for bench/run: make bench BENCH_ARGS=--quick
bench-peers: $(BIN)/bench-ipc $(BIN)/anybinderd
	@bench/run $(BENCH_ARGS)
