# SPDX-License-Identifier: GPL-2.0
#
# The measuring build of the daemon; that of the module is `make module LOCKING=y` (docs/LOCKING.md).
LOCKING_OBJS := $(patsubst $(OBJ)/fuse/%,$(OBJ)/fuse-locking/%,$(FUSE_OBJS)) \
	$(addprefix $(OBJ)/fuse-locking/bench/locking/,locking.o fuse/locking_host.o)
LOCKING_CPPFLAGS := -Ibench/locking/fuse -Ibench/locking/engine -Ibench/locking $(FUSE_CPPFLAGS)

$(eval $(call object_rule,fuse-locking,$$(CC),$$(LOCKING_CPPFLAGS) -flto=auto))
# The mutex of a mode is around the calls of the host, not around those inside the engine.
$(filter $(OBJ)/fuse-locking/host/%,$(LOCKING_OBJS)): CPPFLAGS += -Ibench/locking/host
$(BIN)/anybinderd-locking: LDFLAGS += -O2 -flto=auto
$(BIN)/anybinderd-locking: $(LOCKING_OBJS)
