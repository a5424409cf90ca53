# SPDX-License-Identifier: GPL-2.0
# BENCH_ARGS="--count-only" takes a minute, BENCH_ARGS=--profile shows the instructions of each
# function.

.PHONY: bench-vm
# bench-vm: the module's instructions per operation beside the stock driver's (KVER=6.12)
bench-vm: module $(BIN)/bench-ipc $(BUILD)/bench/profile.so
	@bench/vm/run --kernel $(KVER) $(BENCH_ARGS)

.PHONY: bench-alloc
# bench-alloc: allocator contention, stock and module on 6.1 and 6.12, in one table
bench-alloc: $(BIN)/anybinder $(BIN)/bench-ipc vm-fetch
	@$(MAKE) --no-print-directory module KVER=6.1
	@$(MAKE) --no-print-directory module KVER=6.12
	@bench/vm/alloc $(BENCH_ARGS)

# Plugins of the emulator.
$(BUILD)/bench/%.so: bench/vm/%.c bench/vm/plugin.h bench/profile_window.h
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $<

.PHONY: bench-lines
# bench-lines: cache lines that move between CPUs in a call, module and stock driver (KVER=6.12)
bench-lines: module $(BIN)/bench-ipc $(BUILD)/bench/lines.so
	@bench/vm/lines --kernel $(KVER) $(BENCH_ARGS)

$(BIN)/bench-inversion: LDFLAGS += -static
$(BIN)/bench-inversion: $(patsubst %,$(OBJ)/bench/%.o,inversion child wire payload histogram)

.PHONY: bench-inversion
# bench-inversion: how long an urgent caller waits in each locking mode (KVER=6.12)
bench-inversion: module-locking-$(KVER) $(BIN)/bench-inversion
	@bench/vm/inversion --kernel $(KVER) $(BENCH_ARGS)

# BENCH_ARGS=--icount for instructions as time.
.PHONY: bench-locking
# bench-locking: throughput by locking mode beside the stock driver (KVER=6.12)
bench-locking: module-locking-$(KVER) $(BIN)/bench-ipc
	@bench/vm/locking --kernel $(KVER) $(BENCH_ARGS)

.PHONY: bench-measures
# bench-measures: what measuring costs in the module while it is off (KVER=6.12)
bench-measures: module module-locking-$(KVER) $(BIN)/bench-ipc $(BUILD)/bench/profile.so
	@bench/vm/measures $(KVER)
