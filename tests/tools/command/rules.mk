# SPDX-License-Identifier: Apache-2.0
# The anybinder command as a program, and the unit tests of the tools' crates.
TESTS += tools
tools.needs := all $(BIN)/anybinderd-locking
tools.run = CARGO=$(CARGO) tests/tools/command/run
