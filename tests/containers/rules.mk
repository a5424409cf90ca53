# SPDX-License-Identifier: GPL-2.0
#
# Containers: the daemon of the machine in them, and one of their own. The first needs no packages;
# the others are made by the programs that people use, and are skipped where those are missing.
TESTS += containers:namespaces containers:kubernetes
LONG_TESTS += containers:bwrap containers:podman containers:cdi containers:rootless containers:docker \
	containers:lxc containers:lxc-mapped \
	containers:systemd-nspawn containers:waydroid containers:waydroid-module \
	containers:kubernetes-types containers:workflow

containers.needs := all
containers.run = timeout 600 tests/containers/run $(variant)
# The device plugin of Kubernetes.
containers.kubernetes.needs := $(BIN)/anybinder-device-plugin
containers.kubernetes.run = CARGO=$(CARGO) timeout 600 tests/containers/kubernetes $(PLUGIN_TARGETS)
# The same, and the manifests, in the words of Kubernetes' own types.
containers.kubernetes-types.needs := $(BIN)/anybinder-device-plugin
containers.kubernetes-types.run = timeout 900 tests/containers/kubernetes-types/run
# The example of a job for CI.
containers.workflow.run = timeout 600 tests/containers/workflow
# Waydroid's own package, of Debian's newest suite, is fetched and unpacked, not installed.
containers.waydroid.run = timeout 600 tests/containers/waydroid
# The same in a virtual machine whose kernel has the module, where Waydroid makes the devices.
containers.waydroid-module.needs := module-6.12
containers.waydroid-module.run = tests/containers/waydroid --fetch && vm/run --kernel 6.12 \
	--memory 2048 --timeout 600 -- sh -c \
	'insmod $(BUILD)/module/6.12/anybinder.ko && exec tests/containers/waydroid --module'
