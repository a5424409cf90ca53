# SPDX-License-Identifier: GPL-2.0
# make bench-vm KVER=6.12: the module beside the stock driver; BENCH_ARGS="--count-only" for a minute,
# BENCH_ARGS=--profile for the functions that the instructions are executed in.

.PHONY: bench-vm
bench-vm: module $(BIN)/bench-ipc $(BUILD)/bench/profile.so
	@bench/vm/run --kernel $(KVER) $(BENCH_ARGS)

# make bench-alloc: allocator contention, stock and module on 6.1 and 6.12, in one table.
.PHONY: bench-alloc
bench-alloc: $(BIN)/anybinder $(BIN)/bench-ipc vm-fetch
	@$(MAKE) --no-print-directory module KVER=6.1
	@$(MAKE) --no-print-directory module KVER=6.12
	@bench/vm/alloc $(BENCH_ARGS)

$(BUILD)/bench/profile.so: bench/vm/profile.c bench/mark.h
	@mkdir -p $(@D)
	$(Q)$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $<

# make bench-inversion KVER=6.12: what an urgent caller waits for in each regime of locking.
$(BIN)/bench-inversion: LDFLAGS += -static
$(BIN)/bench-inversion: $(patsubst %,$(OBJ)/bench/%.o,inversion wire histogram)

.PHONY: bench-inversion
bench-inversion: module $(BIN)/bench-inversion
	@bench/vm/inversion --kernel $(KVER) $(BENCH_ARGS)

# make bench-regimes KVER=6.12: throughput by regime, the stock driver beside; BENCH_ARGS=--icount.
.PHONY: bench-regimes
bench-regimes: module $(BIN)/bench-ipc
	@bench/vm/regimes --kernel $(KVER) $(BENCH_ARGS)

# make bench-measures KVER=6.12: what the module's measures cost while they are off.
.PHONY: bench-measures
bench-measures: module $(BIN)/bench-ipc $(BUILD)/bench/profile.so
	@bench/vm/measures $(KVER)
