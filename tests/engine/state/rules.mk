# SPDX-License-Identifier: GPL-2.0
#
# The state of the engine, written and restored (docs/PORTING.md): no member of a structure is forgotten.
# The unit tests have the rest.
TESTS += source:state

source.state.run = tests/engine/state/members
