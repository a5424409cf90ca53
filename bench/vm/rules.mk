# SPDX-License-Identifier: GPL-2.0
# make bench-vm KVER=6.12: the module beside the stock driver; BENCH_ARGS="--count-only" for a minute.

.PHONY: bench-vm
bench-vm: module $(BIN)/bench-ipc
	@bench/vm/run --kernel $(KVER) $(BENCH_ARGS)
