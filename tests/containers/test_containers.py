# SPDX-License-Identifier: GPL-2.0
"""Containers: the daemon of the machine in them, and one of their own. The first needs no packages;
the others are made by the programs that people use, and are skipped where those are missing."""
import os
import re
import shutil
import subprocess

import pytest
from anybinder.daemon import Daemon
from anybinder.process import in_own_mounts
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
