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

.PHONY: static install install-dkms installed-programs uninstall dist deb deb-source

# installed-programs: build what `make install` installs
installed-programs: $(INSTALL_BIN) $(INSTALL_LIBEXEC)

# Built with musl, which has no headers of the kernel: only those are added.
STATIC_BUILD := $(BUILD)/static
STATIC_DAEMON := $(STATIC_BUILD)/bin/anybinderd
STATIC_CC := musl-gcc

## static: the daemon as one static program for any Linux, build/static/bin/anybinderd
static:
	@scripts/setup static
	@mkdir -p $(STATIC_BUILD)/include
	@ln -sfn /usr/include/linux /usr/include/asm-generic $(STATIC_BUILD)/include/
	@ln -sfn /usr/include/$$($(CC) -print-multiarch)/asm $(STATIC_BUILD)/include/asm
	@$(MAKE) --no-print-directory BUILD=$(STATIC_BUILD) CC=$(STATIC_CC) EXTRA_LDFLAGS=-static \
		EXTRA_CFLAGS="-idirafter $(STATIC_BUILD)/include" $(STATIC_DAEMON)

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
