# SPDX-License-Identifier: GPL-2.0
#
# anybinder-dkms, the Debian package that builds the modules for each installed kernel.

.PHONY: package package-test

package:
	@packaging/dkms/build $(BUILD)/package

# Not part of `make vm-test`: it installs compilers in Debian roots, which takes minutes.
package-test: package $(BIN)/anybinder-conformance build/vm/init
	@packaging/dkms/test $(BUILD)/package
