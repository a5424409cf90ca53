# SPDX-License-Identifier: GPL-2.0
"""Containers: the daemon of the machine in them, and one of their own. The first needs no packages;
the others are made by the programs that people use, and are skipped where those are missing."""
import ctypes
import errno
import os
import re
import shutil
import subprocess

import pytest
from anybinder.daemon import Daemon
from anybinder.process import LIBC, in_own_mounts
from building import TOP

HERE = f"{TOP}/tests/containers"
LONG = [pytest.mark.long, pytest.mark.timeout(900)]
TOOLS = ("bwrap", "podman", "cdi", "rootless", "docker", "lxc", "lxc-mapped", "systemd-nspawn")


@pytest.fixture(autouse=True)
def programs(program, root):    # pylint: disable=unused-argument
    """What runs in them."""
    for name in ("anybinder", "anybinderd"):
        program(name)


@pytest.mark.parametrize("tool", ["namespaces", *(
    pytest.param(tool, marks=LONG) for tool in TOOLS)])
def test_containers(suite, tool):
    suite([f"{HERE}/tool_cases.sh", tool], timeout=600)


def test_a_daemon_in_a_pod_shares_nothing_of_the_runtimes(program):
    """What a runtime mounts for the pod in a shared directory would appear on the node."""
    def manifests(status, *words):
        done = subprocess.run([program("anybinder"), *words, "container", "kubernetes", "--own"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    text = manifests(0)
    shared = re.findall(r"mountPath: (.*)\n *mountPropagation: Bidirectional", text)
    assert shared == ["/run/anybinder-node"]
    assert text.count("terminationMessagePath: /tmp/") == text.count("image: ")
    manifests(0, "--mount", "/srv/b/mount")
    for mount in ("/dev/binderfs", "/dev/b/mount", "/run/b", "/var/run/b", "/b"):
        assert "cannot mount at" in manifests(1, "--mount", mount)


OPEN_TREE, MOUNT_SETATTR = 428, 442
AT_FDCWD, AT_EMPTY_PATH, OPEN_TREE_CLONE, MOUNT_ATTR_IDMAP = -100, 0x1000, 1, 0x100000


def map_owners(path, namespace):
    """The error with which a bind mount of a file has its owners mapped as in a user namespace, as
    the kubelet has the runtime do in a pod with one (`hostUsers: false`); 0: it has none."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_IDMAP, 0, 0, namespace)
    mount = LIBC.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), OPEN_TREE_CLONE)
    assert mount >= 0, os.strerror(ctypes.get_errno())
    failed = LIBC.syscall(MOUNT_SETATTR, mount, b"", AT_EMPTY_PATH, ctypes.byref(attributes),
                          ctypes.sizeof(attributes))
    error = ctypes.get_errno() if failed else 0
    os.close(mount)
    return error


def test_owners_of_a_device_are_not_mapped(scratch):
    """Which is why `--cdi` gives the runtime names of devices. Where a kernel maps them, pods with
    user namespaces no longer need it."""
    with Daemon(scratch) as daemon, subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "sh", "-c", "echo ready; sleep 100"],
            stdout=subprocess.PIPE) as other:
        assert other.stdout.readline()
        namespace = os.open(f"/proc/{other.pid}/ns/user", os.O_RDONLY)
        assert map_owners(scratch, namespace) == 0
        assert map_owners(daemon.path("binder"), namespace) == errno.EINVAL
        os.close(namespace)
        other.kill()


# A device that is bound on its own, as a pod has it, and a command in a pid namespace.
POD = """
mount -t tmpfs tmpfs "$1" && touch "$1/binder" && mount --bind "$2" "$1/binder"
exec unshare --pid --fork --kill-child --mount-proc sh -c "$3"
"""


def test_the_example_of_a_pod(program, scratch):
    """Its programs, which are started at once, wait for each other. They once did most times."""
    with open(f"{TOP}/examples/kubernetes/pods.yaml", encoding="utf-8") as file:
        script = re.search(r"- \|\n((?: {10}.*\n)+)", file.read())[1]
    script = script.replace("/dev/binderfs", f"{scratch}/pod")
    path = f"{os.path.dirname(program('anybinder'))}:{os.environ['PATH']}"
    os.mkdir(f"{scratch}/pod")
    names = [f"pod{number}-binder" for number in range(20)]
    with Daemon(scratch, f"--devices={','.join(names)}") as daemon:
        for name in names:
            words = in_own_mounts("sh", "-ec", POD, "sh", f"{scratch}/pod", daemon.path(name),
                                  script)
            done = subprocess.run(words, capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": path})
            assert done.returncode == 0 and " 00000005 " in done.stdout, done


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_types_of_kubernetes(program, scratch):
    """The device plugin and the manifests in the words of Kubernetes' own Go types, which the
    module proxy has."""
    if not shutil.which("go"):
        pytest.skip("go is missing")
    types, own, plugins = f"{scratch}/types", f"{scratch}/own.yaml", f"{scratch}/plugins"
    if subprocess.run(["go", "build", "-o", types, "."], cwd=f"{HERE}/kubernetes-types",
                      check=False).returncode:
        pytest.skip("no modules")
    with open(own, "wb") as file:
        subprocess.run([program("anybinder"), "container", "kubernetes", "--own"], stdout=file,
                       check=True)
    subprocess.run([types, "manifests", own, f"{TOP}/examples/kubernetes/pods.yaml"], check=True)
    os.mkdir(plugins)
    with Daemon(scratch) as daemon:
        subprocess.run([types, "plugin", plugins, daemon.mnt, program("anybinder-device-plugin")],
                       check=True)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_waydroid(suite):
    """Waydroid's own package, of Debian's newest suite, is fetched and unpacked, not installed."""
    suite([f"{HERE}/waydroid.sh"], timeout=900)


@pytest.mark.vm
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_waydroid_on_the_module(suite, machine, module):
    """In a virtual machine whose kernel has the module, where Waydroid makes the devices."""
    subprocess.run([f"{HERE}/waydroid.sh", "--fetch"], check=True)
    suite([*machine("6.12", memory=2048, timeout=600), "sh", "-c",
           f"insmod {module('6.12')} && exec {HERE}/waydroid.sh --module"], timeout=900)
