# SPDX-License-Identifier: GPL-2.0
#
# make install, and the Debian package anybinder made from it.
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL_BIN := $(BIN)/anybinder $(BIN)/anybinderd
# Programs that only the command starts.
INSTALL_LIBEXEC := $(BIN)/rsb_hub $(BIN)/bench-ipc

.PHONY: install uninstall deb deb-test

## install: install the programs, units, manual pages and completions (PREFIX, DESTDIR)
install: $(INSTALL_BIN) $(INSTALL_LIBEXEC)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install $(INSTALL_BIN) -- $(INSTALL_LIBEXEC)

## uninstall: remove what `make install` with the same PREFIX and DESTDIR installed
uninstall:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install --remove

TESTS += install
install.needs := all
install.run = packaging/test-install

## deb: the Debian package of daemon, command and units, build/package/anybinder_VERSION_ARCH.deb
deb: $(INSTALL_BIN) $(INSTALL_LIBEXEC)
	@packaging/deb/build $(BUILD)/package $(VERSION)

## deb-test: install, use, upgrade under load, remove and purge it in clean Debian 12 and 13 roots
deb-test: deb
	@packaging/deb/test $(BUILD)/package $(SUITE)
