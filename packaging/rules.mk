# SPDX-License-Identifier: GPL-2.0
#
# make install, the release tarball, and the Debian packages.
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL_BIN := $(BIN)/anybinder $(BIN)/anybinderd
# Programs that only the command starts.
INSTALL_LIBEXEC := $(BIN)/rsb_hub $(BIN)/bench-ipc
PACKAGES := $(BUILD)/package
newest_dist = $$(ls -t $(BUILD)/dist/anybinder-*.tar.xz | head -1)

.PHONY: install install-dkms installed-programs uninstall dist copyright deb deb-source \
	deb-test deb-build-test

## installed-programs: build what `make install` installs
installed-programs: $(INSTALL_BIN) $(INSTALL_LIBEXEC)

## install: install the programs, units, pages and completions (PREFIX, DESTDIR)
install: $(INSTALL_BIN) $(INSTALL_LIBEXEC)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install $(INSTALL_BIN) -- $(INSTALL_LIBEXEC)

## uninstall: remove what `make install` with the same PREFIX and DESTDIR installed
uninstall:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install --remove

## install-dkms: install the modules' sources for DKMS below DESTDIR/usr
install-dkms:
	@DESTDIR='$(DESTDIR)' packaging/dkms/install $(VERSION)

## dist: the release tarball with the sources of all crates, in build/dist; KEY=ID signs it
dist:
	@CARGO=$(CARGO) packaging/dist $(BUILD)/dist $(VERSION) $(KEY)

## copyright: bring debian/copyright up to date with tools/Cargo.lock (network)
copyright:
	@rm -rf $(BUILD)/copyright
	@$(CARGO) vendor --quiet --locked --versioned-dirs --manifest-path tools/Cargo.toml \
		$(BUILD)/copyright >/dev/null
	@packaging/copyright $(BUILD)/copyright
	@rm -r $(BUILD)/copyright

TESTS += install source:copyright
install.needs := all
install.run = packaging/test-install
source.copyright.run = packaging/copyright --names

## deb: the Debian package of daemon, command and units, in build/package
deb:
	@packaging/deb/build any $(PACKAGES) $(VERSION)

## deb-source: the Debian source package of the newest tarball of `make dist`
deb-source:
	@packaging/deb/source $(PACKAGES)/source $(newest_dist)

## deb-test: install, use, upgrade under load, remove and purge it in clean Debian 12 and 13 roots
deb-test: deb
	@packaging/deb/test $(PACKAGES) $(SUITE)

## deb-build-test: build all packages in a clean Debian root without network, twice, and compare
deb-build-test: dist
	@packaging/deb/test-build $(PACKAGES) $(newest_dist) $(SUITE)
