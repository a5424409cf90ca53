# SPDX-License-Identifier: GPL-2.0
"""What a machine of each architecture is made of."""

import os

AMD64 = {
    "qemu": "qemu-system-x86_64",
    "machine": "q35",
    "cpu": "max,la57=off",
    "init": "init",
    "root": "/",
    # tsc=reliable and the rest: see docs/TESTING.md.
    "kernel_arguments": "console=ttyS0 tsc=reliable no_timer_check",
}
# Pointer authentication by its own algorithm takes half of the time under emulation.
ARM64 = {
    "qemu": "qemu-system-aarch64",
    "machine": "virt",
    "cpu": "max,pauth-impdef=on",
    "init": "init-arm64",
    "root": "roots/bookworm-arm64",
    "kernel_arguments": "console=ttyAMA0",
}


def arch_of(kernel_dir):
    """That of a fetched kernel; one that is built here (vm/debug) has no suite."""
    path = kernel_dir + "/suite"
    if not os.path.exists(path):
        return AMD64
    with open(path) as file:
        return ARM64 if file.read().strip().endswith(":arm64") else AMD64
