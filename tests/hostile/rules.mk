# SPDX-License-Identifier: GPL-2.0
#
# Attacks of one user on the others, each a script of tests/hostile, as root, who becomes the users.
#
#   freeze       BINDER_FREEZE of another user's process
#   recycled     a thread number with a new owner while a worker is stuck
#   slow_memory  command streams in memory that takes its time
#   stream       one write of a gibibyte of commands
HOSTILE_DIR := tests/hostile

TESTS += hostile:stream hostile:freeze hostile:recycled hostile:slow_memory

hostile.needs := $(BIN)/anybinderd
hostile.run = timeout 300 $(PYTHON) $(HOSTILE_DIR)/$(variant).py $(BIN)/anybinderd
