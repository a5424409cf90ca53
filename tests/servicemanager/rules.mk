# SPDX-License-Identifier: GPL-2.0
#
# The service manager with clients of every Android level. Its unit tests run with `tools`.
#
#   servicemanager:live     raw clients, with good and bad requests
#   servicemanager:hidl     the same for HIDL at hwbinder, and services that keep it waiting
#   servicemanager:gbinder  libgbinder of Debian's sid (or SUITE=...) at every API level, and its HIDL
#                           at hwbinder; needs root, and a minute more the first time, for a root of
#                           that suite
LONG_TESTS += servicemanager:gbinder
TESTS += servicemanager:live servicemanager:hidl
servicemanager.needs := all
servicemanager.live.run = timeout 300 $(PYTHON) tests/servicemanager/live_test.py $(BIN)/anybinder
servicemanager.hidl.run = timeout 300 $(PYTHON) tests/servicemanager/hidl_test.py $(BIN)/anybinder
servicemanager.gbinder.run = tests/servicemanager/run-gbinder
