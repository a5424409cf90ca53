# SPDX-License-Identifier: GPL-2.0
"""Directories of the host in the guest: by 9p, or if its kernel has none (cloud), by virtiofs."""

import os
import subprocess
import time

# Programs that serve virtiofs, and their options for a directory: QEMU's own until 7.2, and its
# successor.
SERVERS = {
    "/usr/lib/qemu/virtiofsd": ("-o", "cache=auto,sandbox=chroot", "-o", "source={}"),
    "/usr/libexec/virtiofsd": ("--cache=auto", "--sandbox=chroot", "--shared-dir={}"),
}
START_TIMEOUT_S = 10


def is_enabled(config, option):
    """Is this option of the kernel's configuration set, built in or as a module?"""
    with open(config) as file:
        return any(line.startswith((option + "=y", option + "=m")) for line in file)


class NineP:
    """A server within QEMU."""

    kind = "9p"
    options = "trans=virtio,version=9p2000.L,msize=262144,access=any"
    read_only_options = "ro,cache=loose," + options
    arguments = ()

    @staticmethod
    def device(tag, directory, read_only):
        fsdev = f"local,id={tag},path={directory},security_model=none,multidevs=remap"
        return ["-fsdev", fsdev + (",readonly=on" if read_only else ""),
                "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]

    def stop(self):
        pass


class VirtioFs:
    """A process for each directory, which shares the guest's memory."""

    kind = "virtiofs"
    options = ""
    read_only_options = "ro"

    def __init__(self, run_dir, memory_mib):
        self.run_dir = run_dir
        self.servers = []
        self.arguments = ("-object", f"memory-backend-memfd,id=memory,size={memory_mib}M,share=on",
                          "-machine", "memory-backend=memory")

    def device(self, tag, directory, read_only):
        path = f"{self.run_dir}/{tag}.socket"
        program = next(filter(os.path.exists, SERVERS), None)
        if not program:
            raise SystemExit("vm/run: no virtiofsd: install qemu-system-common or virtiofsd")
        options = [option.format(directory) for option in SERVERS[program]]
        with open(path + ".log", "wb") as log:
            self.servers.append(subprocess.Popen(
                [program, "--socket-path=" + path, *options], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True))
        deadline = time.monotonic() + START_TIMEOUT_S
        while not os.path.exists(path):
            if self.servers[-1].poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"vm/run: {program} did not start: {open(path + '.log').read()}")
            time.sleep(0.01)
        return ["-chardev", f"socket,id={tag}-fs,path={path}",
                "-device", f"vhost-user-fs-pci,chardev={tag}-fs,tag={tag}"]

    def stop(self):
        for server in self.servers:
            server.terminate()
            server.wait()


def sharing_for(kernel_dir, run_dir, memory_mib):
    if is_enabled(kernel_dir + "/config", "CONFIG_9P_FS"):
        return NineP()
    return VirtioFs(run_dir, memory_mib)
