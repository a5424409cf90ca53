# SPDX-License-Identifier: GPL-2.0
#
# The service manager with clients of every Android level. Its unit tests run with `tools`.
#
#   servicemanager:live     raw clients, with good and bad requests
#   servicemanager:hidl     the same for HIDL at hwbinder, and services that keep it waiting
#   servicemanager:gbinder  libgbinder of Debian's sid (or SUITE=...) at every API level, and its HIDL
#                           at hwbinder; skipped without root; a minute more the first time, for a
#                           root of that suite
#   servicemanager:ref      live and hidl on the driver that the expectations come from
#   servicemanager:module   the same on the module
LONG_TESTS += servicemanager:ref servicemanager:module
TESTS += servicemanager:live servicemanager:hidl servicemanager:gbinder
servicemanager.needs := all
servicemanager.live.run = timeout 300 $(PYTHON) tests/tools/servicemanager/live_test.py $(BIN)/anybinder
servicemanager.hidl.run = timeout 300 $(PYTHON) tests/tools/servicemanager/hidl_test.py $(BIN)/anybinder
servicemanager.kernel_run = --timeout 2400 --append security=selinux -- \
	python3 tests/tools/servicemanager/kernel_test.py $(BIN)/anybinder
servicemanager.ref.run = vm/run --kernel 6.12 --driver ref $(servicemanager.kernel_run)
servicemanager.module.needs := module-6.12
servicemanager.module.run = vm/run --kernel 6.12 --driver module $(servicemanager.kernel_run)
servicemanager.gbinder.run = timeout 600 tests/tools/servicemanager/run-gbinder
