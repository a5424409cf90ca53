# SPDX-License-Identifier: GPL-2.0
# The anybinder command against other users of the machine and against mounts that do not answer.
TESTS += hostile:command
hostile.command.needs := all
hostile.command.run = timeout 500 $(PYTHON) tests/tools/hostile/command_test.py
