# SPDX-License-Identifier: GPL-2.0
#
# Services on other machines: export and link between two network namespaces. Its unit tests run
# with `tools`.
#
#   rpc        two machines, what crosses and what does not, losses, liars
#   rpc:every  the liars cut what they say at every byte
TESTS += rpc
LONG_TESTS += rpc:every
rpc.needs := all
rpc.run = timeout 300 $(PYTHON) tests/rpc/link_test.py $(BIN)/anybinder
rpc.every.run = EVERY_BYTE=1 TEST=test_peers_that_lie timeout 900 \
	$(PYTHON) tests/rpc/link_test.py $(BIN)/anybinder
