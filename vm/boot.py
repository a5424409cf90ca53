# SPDX-License-Identifier: GPL-2.0
"""What a boot is made of: the initial RAM disk, and the steps that vm/init.c executes, one a line,
words separated by tabs."""

import os
import stat

# Directories where the guest mounts a file system of its own, which hides the host's.
FRESH = ("/tmp/", "/run/", "/dev/")

# The directory of a run in the guest.
RUN_DIR = "/run/vm"

# The devices that clients expect; a kernel's configuration may list fewer.
DEVICES = ("binder", "hwbinder", "vndbinder")


def step(*words):
    return "\t".join(words)


def share_step(tag, directory, shared, read_only):
    """Mounts a directory of the host; `shared` says how (vm/sharing.py)."""
    options = shared.read_only_options if read_only else shared.options
    return step("mount", tag, directory, shared.kind, *filter(None, [options]))


def mount_steps():
    """A mounted binderfs with the links that Android's init creates."""
    steps = [step("mkdir", "/dev/binderfs")]
    steps.append(step("mount", "binder", "/dev/binderfs", "binder", "stats=global"))
    return steps + [step("symlink", "/dev/binderfs/" + name, "/dev/" + name) for name in DEVICES]


def device_steps(module):
    """Devices in /dev, as created by a driver without binderfs."""
    return [step("insmod", module, "devices=" + ",".join(DEVICES))]


def binderfs_steps(module):
    """Devices in a mounted binderfs; the C driver needs devices=."""
    return device_steps(module) + mount_steps()


def module_steps(module, *parameters):
    """Devices in a mounted binderfs; this project's module creates the usual ones by default."""
    return [step("insmod", module, *parameters)] + mount_steps()


def rust_steps(module):
    """As the C driver; the Rust driver has another name for the parameter."""
    return [step("insmod", module, "rust_devices=" + ",".join(DEVICES))] + mount_steps()


# Driver name -> (module, relative to build/vm, steps that load it). {kernel} is the kernel's name.
DRIVERS = {
    "none": (None, None),
    "stock": ("{kernel}/modules/binder_linux.ko", device_steps),
    "ref": ("ref/{kernel}/binder_linux.ko", binderfs_steps),
    "rust": ("rust-driver/{kernel}/rust_binder.ko", rust_steps),
    "module": ("../module/{kernel}/anybinder.ko", module_steps),
    "module-locking": ("../module/{kernel}-locking/anybinder.ko", module_steps),
}


def module_of(vm_dir, kernel, driver):
    """The path of a driver's module, or None."""
    path, _ = DRIVERS[driver]
    return path and os.path.normpath(os.path.join(vm_dir, path.format(kernel=kernel)))


def first_steps(modules, shared):
    """Up to mounting the host's file system: the content of /steps in the initial RAM disk."""
    lines = [step("mount", "dev", "/dev", "devtmpfs")]
    lines += [step("insmod", f"/{name}.ko") for name in modules]
    lines += [
        step("control"),
        share_step("root", "/root", shared, True),
        step("mount", "proc", "/root/proc", "proc"),
        step("mount", "sys", "/root/sys", "sysfs"),
        step("mount", "dev", "/root/dev", "devtmpfs"),
        step("mount", "tmp", "/root/tmp", "tmpfs", "mode=1777"),
        step("mount", "run", "/root/run", "tmpfs", "mode=755"),
        step("root", "/root"),
        step("mkdir", RUN_DIR),
        share_step("run_dir", RUN_DIR, shared, False),
        step("steps", RUN_DIR + "/steps"),
    ]
    return "\n".join(lines) + "\n"


def second_steps(module, driver, parameters, shares, shared):
    """In the host's file system: the content of RUN_DIR/steps. For `shares` see Machine."""
    lines = [
        step("mkdir", "/dev/pts"),
        step("mount", "devpts", "/dev/pts", "devpts", "mode=620,ptmxmode=666"),
        step("mkdir", "/dev/shm"),
        step("mount", "shm", "/dev/shm", "tmpfs", "mode=1777"),
        step("mount", "debugfs", "/sys/kernel/debug", "debugfs"),
        step("mount", "tracefs", "/sys/kernel/tracing", "tracefs"),
        step("symlink", "/proc/self/fd", "/dev/fd"),
        step("symlink", "/proc/self/fd/0", "/dev/stdin"),
        step("symlink", "/proc/self/fd/1", "/dev/stdout"),
        step("symlink", "/proc/self/fd/2", "/dev/stderr"),
    ]
    for tag, directory, read_only in shares:
        lines.append(step("mkdir", directory))
        lines.append(share_step(tag, directory, shared, read_only))
    load = DRIVERS[driver][1]
    if load:
        lines += load(module, *parameters)
    lines.append(step("run", RUN_DIR))
    return "\n".join(lines) + "\n"


# ---- the initial RAM disk: an uncompressed cpio archive ("newc") ----

TRAILER = "TRAILER!!!"


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def member(name, mode, data, inode):
    encoded = name.encode() + b"\0"
    # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return padded(header + encoded) + padded(data)


def archive(directories, files):
    """The bytes of an archive: names of directories, then (name, mode, content) of files."""
    members = [(name, stat.S_IFDIR | 0o755, b"") for name in directories]
    members += [(name, stat.S_IFREG | mode, data) for name, mode, data in files]
    members.append((TRAILER, 0, b""))
    return b"".join(member(*each, inode) for inode, each in enumerate(members, 1))
