# SPDX-License-Identifier: GPL-2.0
#
# make install, the release tarball, and the Debian packages. docs/INSTALL.md has the overview.
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL_BIN := $(BIN)/anybinder $(BIN)/anybinderd
# Programs that only the command starts.
INSTALL_LIBEXEC := $(BIN)/bench-ipc
PACKAGES := $(BUILD)/package
newest_dist = $$(ls -t $(BUILD)/dist/anybinder-*.tar.xz | head -1)

.PHONY: archive archive-arm64 install install-dkms installed-programs uninstall dist deb deb-source

# installed-programs: build what `make install` installs
installed-programs: $(INSTALL_BIN) $(INSTALL_LIBEXEC)

# The programs of the archive, of this architecture and of others, by the names that uname has.
ARCHS := $(sort $(TARGET) aarch64)
STATIC := $(BIN)/static
STATIC_PROGRAMS = $(addprefix $(STATIC)/,anybinder anybinderd libbinder_ndk.so.1)
FOREIGN = $(patsubst aarch64,archive-arm64,$(filter-out $(TARGET),$(ARCHS)))

## archive: static programs for any Linux (ARCHS="x86_64 aarch64"), and wheels, in build/archive
archive:
	@scripts/setup build archive $(FOREIGN)
	+@$(MAKE) --no-print-directory $(STATIC_PROGRAMS) $(BUILD)/copyright $(FOREIGN)
	@packaging/archive $(BUILD)/archive $(VERSION) $(BUILD)/copyright \
		$(foreach arch,$(ARCHS),$(arch)=$(if $(filter $(TARGET),$(arch)),$(STATIC),$(ARM64_BIN)/static))

# A release tarball has it.
$(BUILD)/copyright: tools/Cargo.lock packaging/copyright packaging/copyright.in
	$(Q)$(call say,MAKE,$@)cp debian/copyright $@ 2>/dev/null || CARGO=$(CARGO) packaging/copyright $@

archive-arm64:
	@vm/rust.sh arm64
	+@$(ARM64_MAKE) $(STATIC_PROGRAMS:$(BIN)/%=$(ARM64_BIN)/%)

## install: install the programs, units, pages and completions (PREFIX, DESTDIR)
install: $(INSTALL_BIN) $(INSTALL_LIBEXEC)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install $(INSTALL_BIN) -- $(INSTALL_LIBEXEC)

## uninstall: remove what `make install` with the same PREFIX and DESTDIR installed
uninstall:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install --remove

# install-dkms: install the modules' sources for DKMS below DESTDIR/usr
install-dkms:
	@DESTDIR='$(DESTDIR)' packaging/dkms/install $(VERSION)

## dist: the release tarball with the sources of all crates, in build/dist; KEY=ID signs it
dist:
	@CARGO=$(CARGO) packaging/dist $(BUILD)/dist $(VERSION) $(KEY)

## deb: the Debian package of daemon, command and units, in build/package
deb:
	@CARGO=$(CARGO) packaging/deb/build any $(PACKAGES) $(VERSION)

# deb-source: the Debian source package of the newest tarball of `make dist`
deb-source:
	@packaging/deb/source $(PACKAGES)/source $(newest_dist)
