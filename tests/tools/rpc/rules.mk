# SPDX-License-Identifier: GPL-2.0
#
# Services on other machines: export and link between two network namespaces. Its unit tests run
# with `tools`.
#
#   rpc:machines  two machines, what crosses and what does not, losses, liars
#   rpc:gateway   links with `.aidl` files: objects inside parcelables, nulls, files
#   rpc:dialects  objects of programs of older Android releases
#   rpc:apart     peers that nobody knows, services of one export that die and return
#   rpc:recorded  the bytes of each wire version, in both directions
#   rpc:words     programs of a libbinder with another header word
#   rpc:every     the liars cut what they say at every byte
#   rpc:many      10,000 connections that say nothing
TESTS += rpc:machines rpc:gateway rpc:dialects rpc:apart rpc:words rpc:recorded
LONG_TESTS += rpc:every rpc:many
rpc.needs := all
rpc.machines.run = timeout 300 $(PYTHON) tests/tools/rpc/link_test.py $(BIN)/anybinder
rpc.gateway.needs = $(CLIENT_TESTS)
rpc.gateway.run = timeout 300 $(PYTHON) tests/tools/rpc/gateway_test.py $(BIN)/anybinder $(CLIENT_TESTS)
rpc.dialects.run = timeout 300 $(PYTHON) tests/tools/rpc/dialect_test.py $(BIN)/anybinder
rpc.apart.run = timeout 300 $(PYTHON) tests/tools/rpc/apart_test.py $(BIN)/anybinder
rpc.words.run = timeout 300 $(PYTHON) tests/tools/rpc/words_test.py $(BIN)/anybinder
rpc.recorded.run = timeout 300 $(PYTHON) tests/tools/rpc/recorded_test.py $(BIN)/anybinder
rpc.many.run = CONNECTIONS=10000 TEST=test_many_connections timeout 600 \
	$(PYTHON) tests/tools/rpc/apart_test.py $(BIN)/anybinder
rpc.every.run = EVERY_BYTE=1 TEST=test_peers_that_lie timeout 900 \
	$(PYTHON) tests/tools/rpc/link_test.py $(BIN)/anybinder
