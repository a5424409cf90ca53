# SPDX-License-Identifier: GPL-2.0
#
# anybinder-dkms, the Debian package that builds the modules for each installed kernel.

.PHONY: package package-test

# package: the Debian package of the modules' sources, anybinder-dkms, in build/package
package:
	@CARGO=$(CARGO) packaging/deb/build all $(BUILD)/package $(VERSION)

# Not part of `make vm-test`: it installs compilers in Debian roots, which takes minutes.
# package-test: install, load and remove anybinder-dkms in clean Debian roots and in QEMU
package-test: package $(BIN)/anybinder-conformance build/vm/init
	@packaging/dkms/test $(BUILD)/package
