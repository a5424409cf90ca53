# SPDX-License-Identifier: GPL-2.0
#
# A running daemon; and the parts of it by themselves, which host/fuse/rules.mk builds and runs.
DAEMON_TESTS := tests/daemon
TESTS += anybinderd:plain anybinderd:asan anybinderd:measure anybinderd:bound anybinderd:stuck \
	anybinderd:helper anybinderd:events anybinderd:crash anybinderd:crash-asan \
	anybinderd:handover anybinderd:handover-asan anybinderd:handover-fail \
	anybinderd:handover-load anybinderd:version

anybinderd.plain.needs := $(BIN)/anybinderd
anybinderd.plain.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/daemon_test.py $(BIN)/anybinderd

anybinderd.asan.needs := $(BIN)/anybinderd-asan
anybinderd.asan.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/daemon_test.py $(BIN)/anybinderd-asan

anybinderd.bound.needs := $(BIN)/anybinderd-asan
anybinderd.bound.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/bound_test.py $(BIN)/anybinderd-asan

anybinderd.stuck.needs := $(BIN)/anybinderd-asan
anybinderd.stuck.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/stuck_test.py $(BIN)/anybinderd-asan

anybinderd.helper.needs := $(BIN)/anybinderd-asan
anybinderd.helper.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/helper_test.py $(BIN)/anybinderd-asan

anybinderd.crash.needs := $(BIN)/anybinderd
anybinderd.crash.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/crash_test.py $(BIN)/anybinderd

anybinderd.crash-asan.needs := $(BIN)/anybinderd-asan
anybinderd.crash-asan.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/crash_test.py $(BIN)/anybinderd-asan

anybinderd.events.needs := $(BIN)/anybinderd-asan
anybinderd.events.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/events_test.py $(BIN)/anybinderd-asan

anybinderd.measure.needs := $(BIN)/anybinderd $(BIN)/bench-ipc
anybinderd.measure.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/measure_test.py $(BIN)/anybinderd

# Files through calls on busy processors; the long form transfers 500,000.
TESTS += transfer:short
LONG_TESTS += transfer:long

transfer.needs := $(BIN)/anybinderd
transfer.short.run = timeout 420 $(PYTHON) $(DAEMON_TESTS)/transfer_test.py $(BIN)/anybinderd 2000
transfer.long.run = $(PYTHON) $(DAEMON_TESTS)/transfer_test.py $(BIN)/anybinderd 500000 3600

anybinderd.handover.needs := $(BIN)/anybinderd
anybinderd.handover.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/handover_test.py $(BIN)/anybinderd

anybinderd.handover-asan.needs := $(BIN)/anybinderd-asan
anybinderd.handover-asan.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/handover_test.py $(BIN)/anybinderd-asan

anybinderd.version.needs := $(BIN)/anybinderd-asan $(FUSE_VERSIONS) $(BIN)/anybinder
anybinderd.version.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/version_test.py $(BIN)/anybinderd-asan

anybinderd.handover-fail.needs := $(BIN)/anybinderd-asan
anybinderd.handover-fail.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/handover_fail_test.py $(BIN)/anybinderd-asan

# Hand-overs in a row under clients; the long forms: 200 under 64 pairs of them, and between two
# versions of the state.
LONG_TESTS += handover-load:long handover-load:versions

anybinderd.handover-load.needs := $(BIN)/anybinderd
anybinderd.handover-load.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/handover_load_test.py $(BIN)/anybinderd

handover-load.long.needs := $(BIN)/anybinderd
handover-load.long.run = timeout 3600 $(PYTHON) $(DAEMON_TESTS)/handover_load_test.py $(BIN)/anybinderd 200 64

handover-load.versions.needs := $(BIN)/anybinderd-asan $(BIN)/anybinderd-next
handover-load.versions.run = timeout 3600 $(PYTHON) $(DAEMON_TESTS)/handover_load_test.py $(BIN)/anybinderd-asan 200 16 \
	$(BIN)/anybinderd-next

# SIGKILL at each message of a hand-over; the long form has each kill followed by each other one.
TESTS += anybinderd:kill-points
LONG_TESTS += kill-points:long

anybinderd.kill-points.needs := $(BIN)/anybinderd
anybinderd.kill-points.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/kill_points_test.py $(BIN)/anybinderd

kill-points.long.needs := $(BIN)/anybinderd
kill-points.long.run = timeout 3600 $(PYTHON) $(DAEMON_TESTS)/kill_points_test.py $(BIN)/anybinderd every

# Clients that delay a hand-over; the long form has 2,000 processes.
TESTS += anybinderd:handover-delay
LONG_TESTS += handover-delay:long

anybinderd.handover-delay.needs := $(BIN)/anybinderd
anybinderd.handover-delay.run = timeout 300 $(PYTHON) $(DAEMON_TESTS)/handover_delay_test.py $(BIN)/anybinderd

handover-delay.long.needs := $(BIN)/anybinderd
handover-delay.long.run = timeout 3600 $(PYTHON) $(DAEMON_TESTS)/handover_delay_test.py $(BIN)/anybinderd 2000

# Hand-overs and crashes on kernels that differ: without passthrough and resent requests; with them;
# and one that lets only tracers write to read-only memory, unless it is told otherwise.
REPLACED_KERNELS := 6.1 6.12 newest
VM_TESTS += $(REPLACED_KERNELS:%=anybinderd:vm-%)
TURNS += anybinderd:vm-6.1,anybinderd:vm-6.12,anybinderd:vm-newest
$(foreach kernel,$(REPLACED_KERNELS),$(eval anybinderd.vm-$(kernel).needs := $(BIN)/anybinderd)$(eval \
	anybinderd.vm-$(kernel).run = vm/run --kernel $(kernel) --append proc_mem.force_override=always \
	--timeout 900 -- $(DAEMON_TESTS)/guest $(BIN)/anybinderd handover crash))
