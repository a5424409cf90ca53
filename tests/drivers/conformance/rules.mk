# SPDX-License-Identifier: GPL-2.0
#
# The conformance suite: one static program (it also runs in a bare virtual machine) and its back ends.

CONFORMANCE_DIR := tests/drivers/conformance
CONFORMANCE_SRC := $(wildcard $(CONFORMANCE_DIR)/*.c $(CONFORMANCE_DIR)/lib/*.c $(CONFORMANCE_DIR)/harness/*.c tests/lib/*.c)
CONFORMANCE_OBJ := $(CONFORMANCE_SRC:%.c=$(OBJ)/%.o)

$(CONFORMANCE_OBJ): CPPFLAGS += -Itests -I$(CONFORMANCE_DIR)/lib
$(BIN)/anybinder-conformance: LDFLAGS += -static
$(BIN)/anybinder-conformance: $(CONFORMANCE_OBJ)

PROGRAMS += $(BIN)/anybinder-conformance

# A variant is a back end of run-backend, which says what each is.
TESTS += conformance:engine conformance:fuse conformance:fuse-plain conformance:fuse-global conformance:fuse-bound \
	conformance:fuse-replaced
VM_TESTS += $(addprefix conformance:,stock ref ref-newest module module-6.1 module-6.12-rt \
	module-newest module-global module-nopreempt module-restricted)
TURNS += conformance:ref,conformance:ref-newest,conformance:stock \
	conformance:module-6.1,conformance:module-6.12-rt,conformance:module-newest \
	conformance:module-global,conformance:module-nopreempt

conformance.needs := $(BIN)/anybinder-conformance
conformance.run = $(CONFORMANCE_DIR)/run-backend $(variant) $(CONFORMANCE_OPTIONS_$(variant))

# In -calls a call ends with EINTR now and then if many threads want each processor (docs/SECURITY.md).
LONG_TESTS += conformance:fuse-bound-plain conformance:fuse-replaced-calls conformance:fuse-replaced-long
conformance.fuse-global.needs := $(BIN)/anybinderd-locking
$(foreach backend,fuse fuse-plain fuse-bound fuse-bound-plain fuse-replaced fuse-replaced-calls \
	fuse-replaced-long,$(eval conformance.$(backend).needs := $(BIN)/anybinderd))
$(foreach backend,module module-restricted,$(eval conformance.$(backend).needs := module-6.12))
$(foreach backend,module-global module-nopreempt,$(eval conformance.$(backend).needs := module-locking-6.12))
$(foreach kernel,6.1 6.12-rt newest,$(eval conformance.module-$(kernel).needs := module-$(kernel)))

# What a call can do, in the other locking modes; nothing else depends on them.
CONFORMANCE_OPTIONS_fuse-global := $(patsubst %,--filter '%',txn_* object_* loop_* oneway_* freeze_* \
	death_* rt_*)
CONFORMANCE_OPTIONS_module-global := $(CONFORMANCE_OPTIONS_fuse-global)
CONFORMANCE_OPTIONS_module-nopreempt := $(CONFORMANCE_OPTIONS_fuse-global)
CONFORMANCE_OPTIONS_module-restricted := --filter 'freeze_*'
