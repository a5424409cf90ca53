# SPDX-License-Identifier: GPL-2.0
#
# anybinder-dkms, the Debian package that builds the modules for each installed kernel.

.PHONY: package package-test

package:
	@packaging/dkms/build $(BUILD)/package

# Not part of `make vm-test`: it creates a Debian root, which takes minutes the first time.
package-test: package $(BIN)/anybinder-conformance
	@packaging/dkms/test $(BUILD)/package
