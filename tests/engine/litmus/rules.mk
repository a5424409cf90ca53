# SPDX-License-Identifier: GPL-2.0
#
# The places that work without a lock, judged by the kernel's memory model; HERD7=PATH: herd7, which
# no package of Debian has (docs/TESTING.md).
LONG_TESTS += litmus:kernel

litmus.kernel.run = HERD7=$(HERD7) tests/engine/litmus/run $(BUILD)/lkmm
