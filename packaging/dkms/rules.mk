# SPDX-License-Identifier: GPL-2.0
#
# anybinder-dkms, the Debian package that builds the modules for each installed kernel.

.PHONY: package

# package: the Debian package of the modules' sources, anybinder-dkms, in build/package
package:
	@CARGO=$(CARGO) packaging/deb/build all $(BUILD)/package $(VERSION)
