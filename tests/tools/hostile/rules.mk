# SPDX-License-Identifier: GPL-2.0
#
#   hostile:command  the anybinder command against other users of the machine and against mounts that
#                    do not answer
#   hostile:manager  the service manager against users who keep it busy
TESTS += hostile:command hostile:manager
hostile.command.needs := all
hostile.command.run = timeout 500 $(PYTHON) tests/tools/hostile/command_test.py
hostile.manager.needs := all
hostile.manager.run = timeout 300 $(PYTHON) tests/tools/hostile/manager_test.py $(BIN)/anybinder
