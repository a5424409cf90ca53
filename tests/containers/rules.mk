# SPDX-License-Identifier: GPL-2.0
#
# Containers: the daemon of the machine in them, and one of their own. The first needs no packages;
# the others are made by the programs that people use, and are skipped where those are missing.
TESTS += containers:namespaces
LONG_TESTS += containers:bwrap containers:podman containers:rootless containers:docker \
	containers:lxc containers:systemd-nspawn containers:waydroid

containers.needs := all
containers.run = timeout 600 tests/containers/run $(variant)
# Waydroid's own package, of Debian's newest suite, is fetched and unpacked, not installed.
containers.waydroid.run = timeout 600 tests/containers/waydroid
