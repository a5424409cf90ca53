# SPDX-License-Identifier: Apache-2.0
# The commands for services, with real ones:
#
#   daemon    on the daemon
#   stock     on the stock driver of 6.12, module on ours
#   page      the page of `anybinder graph` in headless Chromium
#
# In a virtual machine with one processor: `top` traces (see tests/tools/trace/rules.mk).
TESTS += client:daemon
LONG_TESTS += client:stock client:module client:page
client.needs = all $(CLIENT_TESTS)
client.daemon.run = timeout 600 tests/tools/client/run $(BIN)
client.page.run = tests/tools/client/page
client.stock.run = vm/run --kernel 6.12 --driver ref --smp 1 --timeout 1500 -- \
	tests/tools/client/run $(BIN) --kernel
client.module.needs := module-6.12
client.module.run = vm/run --kernel 6.12 --driver module --smp 1 --timeout 1500 -- \
	tests/tools/client/run $(BIN) --kernel
