# SPDX-License-Identifier: GPL-2.0
# Both locking modes in one machine; BENCH_ARGS as for `anybinder bench heap`. Writes
# build/bench/heap-KVER/heap.{json,svg}.
BENCH_HEAP_OUT = $(abspath $(BUILD)/bench/heap-$(KVER))

.PHONY: bench-heap
# bench-heap: contention on the page pools of the heap module (KVER=6.12)
bench-heap: module $(BIN)/anybinder
	@mkdir -p $(BENCH_HEAP_OUT)
	@vm/run --kernel $(KVER) --memory 2048 --smp 4 --timeout 1500 --share $(BENCH_HEAP_OUT) -- \
		bench/heap/guest $(MODULE_DIR)/anybinder_heap.ko --output $(BENCH_HEAP_OUT) $(BENCH_ARGS)
