# SPDX-License-Identifier: GPL-2.0
#
# Attacks of one user on the others, each a script of this folder, as root, who becomes the users.
#
#   absent_memory  a receiver's buffer or stack in memory that never comes
#   vm-clock     the clock of the day is set by hours; in a virtual machine only
#   directory    the lock of the devices' directory, and what helps
#   ends         the end of the daemon, whatever its workers wait for, and its processes
#   files        files that do not close, processes that cannot be looked at, the injector
#   flood        as many requests as many threads can make
#   freeze       BINDER_FREEZE of another user's process
#   hanging      the attacks of files; long form only
#   memory       nodes without end, calls with many objects, long reports
#   opens        opens without end, as several users of a namespace, with few descriptors, many at the
#                same time, and with O_PATH
#   odd          receivers of files that are traced, stopped, frozen, ...
#   recycled     a thread number with a new owner while a worker is stuck
#   replacing    hand-overs beside floods, slow memory, long streams; on a full disk
#   scarce       a daemon with little memory, a full disk
#   slow_lane    calls that wake other users from a user who is served apart
#   slow_memory  command streams in memory that takes its time
#   stream       one write of a gibibyte of commands
#   watching     readers that never read, inotify, fanotify, mounts in user namespaces
#   timeout      calls that last longer than the kernel lets requests wait; long form only
#
# The long form of all, with a table of what the victims see, in build/hostile:
#
#   make test-hostile
#   make hostile-docs       puts the worst of each row into docs/SECURITY.md
HOSTILE_DIR := tests/daemon/hostile
HOSTILE_ATTACKS := stream flood freeze memory odd opens recycled scarce slow_memory \
	watching
HOSTILE_LONG := hanging timeout

LONG_TESTS += hostile:table
TESTS += $(HOSTILE_ATTACKS:%=hostile:%) hostile:files hostile:ends hostile:absent_memory \
	hostile:slow_lane hostile:replacing hostile:directory

HOSTILE_PROGRAMS := $(addprefix $(BIN)/hostile-,flood uring)

$(HOSTILE_PROGRAMS): $(BIN)/hostile-%: $(OBJ)/$(HOSTILE_DIR)/%.o

$(BIN)/hostile-early.so: $(HOSTILE_DIR)/early.c
	@mkdir -p $(@D)
	$(Q)$(call say,LD,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -shared -fPIC -o $@ $< -ldl

hostile.needs := $(BIN)/anybinderd $(BIN)/bench-ipc $(HOSTILE_PROGRAMS) $(BIN)/hostile-early.so
hostile.run = timeout 300 $(PYTHON) $(HOSTILE_DIR)/$(variant).py $(BIN)/anybinderd
hostile.table.run = $(PYTHON) $(HOSTILE_DIR)/table.py $(BIN)/anybinderd $(BUILD)/hostile \
	$(HOSTILE_ATTACKS:%=$(HOSTILE_DIR)/%.py) $(HOSTILE_LONG:%=$(HOSTILE_DIR)/%.py)

# Whatever else runs there sees the clock.
VM_TESTS += hostile:vm-clock
hostile.vm-clock.needs := all
hostile.vm-clock.run = vm/run --kernel 6.12 --timeout 500 -- $(PYTHON) $(HOSTILE_DIR)/clock.py \
	$(BIN)/anybinderd

.PHONY: hostile-docs
# hostile-docs: the table of `make test-hostile` into docs/
hostile-docs:
	@$(PYTHON) $(HOSTILE_DIR)/table.py --write $(BUILD)/hostile docs/SECURITY.md
