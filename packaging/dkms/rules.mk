# SPDX-License-Identifier: GPL-2.0
#
# anybinder-dkms, the Debian package that builds the module for each kernel of the machine it is on.

.PHONY: package package-test

package:
	@packaging/dkms/build $(BUILD)/package

# Not part of `make vm-test`: it makes a Debian root of its own, which takes minutes the first time.
package-test: package $(BIN)/anybinder-conformance
	@packaging/dkms/test $(BUILD)/package
