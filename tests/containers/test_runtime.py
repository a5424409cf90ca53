# SPDX-License-Identifier: GPL-2.0
"""containerd and runc (node.sh) with what the device plugin and the daemon's manifest say, asked
for by the kubelet's calls. On request: it makes a Debian root first."""
import contextlib
import os
import re
import shutil
import signal
import subprocess

import pytest
from anybinder.process import children_of, until
from building import TOP
from test_device_plugin import Kubelet, fields, message, texts

grpc = pytest.importorskip("grpc", reason="needs python3-grpcio: `make setup` installs it")
pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(900)]
NODE = f"{TOP}/tests/containers/node.sh"
PROGRAMS = ("anybinder", "anybinderd", "anybinder-device-plugin")
MOUNT = "/run/anybinder-node/binderfs"
OF_THE_NODE = 2
BIDIRECTIONAL = 2
MAPPED = message((1, 1 << 20), (3, 65536))    # where a user namespace has its ids
SECONDS = 120
SERVICE = """
anybinder --mount /dev/binderfs servicemanager --device binder &
anybinder --mount /dev/binderfs demo-service &
anybinder --mount /dev/binderfs wait anybinder.demo.IAddInts/default
anybinder --mount /dev/binderfs call anybinder.demo.IAddInts/default 1 i32 2 i32 3
cat /proc/self/uid_map
"""


def bind(inside, outside, *more):
    return 7, message((1, inside), (2, outside), *more)


class Container:
    """What containerd made of a pod with one container."""

    def __init__(self, node, pod, identity):
        self.node, self.pod, self.identity = node, pod, identity

    def end(self):
        """How it has ended; "" as long as it runs."""
        answer = self.node.call("ContainerStatus", message((1, self.identity)))
        reasons = fields(fields(answer, 1)[0], 10)
        return reasons[0].decode() if reasons else ""

    def log(self):
        with open(self.node.path(f"/var/log/{self.pod[:12]}"), encoding="utf-8") as file:
            return file.read()


class Node:
    """A node that runs, whose process 1 is @pid."""

    def __init__(self, pid):
        self.pid = pid
        self.channel = grpc.insecure_channel(f"unix:{self.path('/run/containerd/containerd.sock')}")
        self.pods = 0

    def path(self, path):
        """That of a file of the node, for this process."""
        return f"/proc/{self.pid}/root{path}"

    def words(self, *command):
        return ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--net", "--ipc", "--uts",
                "--cgroup", "--wd=/", "--", *command]

    def call(self, method, request):
        call = self.channel.unary_unary(f"/runtime.v1.RuntimeService/{method}")
        return call(request, timeout=SECONDS)

    @contextlib.contextmanager
    def container(self, *command, given=(), is_privileged=False, has_users=False):
        """One that runs, in a pod of its own.

        given: further fields of its configuration, as mounts
        has_users: in a user namespace of its own, as with `hostUsers: false`
        """
        self.pods += 1
        users = [(5, message((2, MAPPED), (3, MAPPED)))] if has_users else []
        namespaces = message((2, OF_THE_NODE if is_privileged else 1), *users)
        name = f"pod-{self.pods}"
        sandbox = message((1, message((1, name), (2, name), (3, "default"))), (3, "/var/log"),
                          (8, message((2, message((1, namespaces), (6, is_privileged))))))
        pod, = texts(self.call("RunPodSandbox", message((1, sandbox))), 1)
        try:
            security = message((2, is_privileged), (3, namespaces))
            made = self.call("CreateContainer", message((1, pod), (3, sandbox), (2, message(
                (1, message((1, "one"))), (2, message((1, "anybinder:1.0.0"))),
                *((3, word) for word in command), (11, pod[:12]), *given,
                (15, message((2, security)))))))
            identity, = texts(made, 1)
            self.call("StartContainer", message((1, identity)))
            yield Container(self, pod, identity)
            self.call("StopContainer", message((1, identity), (2, 30)))
        finally:
            for method in ("StopPodSandbox", "RemovePodSandbox"):
                self.call(method, message((1, pod)))

    def run(self, *command, **how):
        """What a container of this command writes, which has to succeed."""
        with self.container(*command, **how) as container:
            end = until(container.end, SECONDS, "the container ends")
            assert end == "Completed", container.log()
            return container.log()

    def signal(self, number):
        """To all processes of the daemon."""
        subprocess.run(self.words("pkill", f"-{int(number)}", "-f", "anybinderd"),
                       check=True)

    def mounted(self):
        """Where the node has mounts, but for those of the runtime."""
        with open(f"/proc/{self.pid}/mountinfo", encoding="utf-8") as file:
            paths = (line.split()[4] for line in file)
            return sorted(path for path in paths if not re.match("/run/(containerd|netns)", path))


@contextlib.contextmanager
def running(program, directory, *kubelet):
    """A node, with the image in its store and its programs in /run/programs.

    directory: for files
    kubelet: the program, if one is to run
    """
    if os.geteuid():
        pytest.skip("needs root")
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        pytest.skip("needs control groups of version 1")
    programs = [program(name) for name in PROGRAMS]
    image = f"{directory}/image.tar"
    subprocess.run([NODE, "build"], check=True)
    subprocess.run([NODE, "image", image, *programs], check=True)
    with subprocess.Popen([NODE, "run", image, *kubelet], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as runs:
        try:
            assert runs.stdout.readline() == "ready\n"
            node = Node(children_of(children_of(runs.pid)[0])[0])
            for path in programs:
                shutil.copy(path, node.path("/run/programs"))
            yield node
        finally:
            runs.stdin.close()
            runs.wait()


@pytest.fixture(scope="module", name="node")
def started_node(program, tmp_path_factory):
    with running(program, tmp_path_factory.mktemp("node")) as node:
        yield node


@pytest.fixture(scope="module", name="daemon")
def daemon_of_manifest(program):
    """The arguments of Node.container() for the daemon's, as its manifest has them."""
    done = subprocess.run([program("anybinder"), "container", "kubernetes", "--own"],
                          stdout=subprocess.PIPE, text=True, check=True)
    manifest = done.stdout.split("\n---\n", maxsplit=1)[0]
    command = re.findall(r"- (.*)", re.search(r"command:\n((?: +- .*\n)+)", manifest)[1])
    shared = re.search(r"mountPath: (.*)\n *mountPropagation: Bidirectional", manifest)[1]
    message_path = re.search(r"terminationMessagePath: (.*)", manifest)[1]
    return command, {"is_privileged": True, "given": [
        bind(shared, shared, (5, BIDIRECTIONAL)), bind(message_path, "/run/termination-log")]}


@contextlib.contextmanager
def served(node, daemon):
    """The daemon's container."""
    with open(node.path("/run/termination-log"), "w", encoding="utf-8"):
        pass
    with node.container(*daemon[0], **daemon[1]) as container:
        until(lambda: os.path.exists(node.path(f"{MOUNT}/binder-control")) or container.end(),
              SECONDS)
        assert not container.end(), container.log()
        yield
    until(lambda: not os.path.exists(node.path(f"{MOUNT}/binder-control")), SECONDS)


def given_by(answer):
    """The fields of a container's configuration that the kubelet makes of the plugin's answer."""
    binds = [dict(zip("io", texts(one, 1, 2))) for one in fields(answer, 2)]
    names = [texts(one, 1)[0] for one in fields(answer, 5)]
    return ([bind(one["i"], one["o"]) for one in binds]
            + [(17, message((1, name))) for name in names])


@contextlib.contextmanager
def plugins(node, *options):
    """The device plugin. Gives the resource of one's own, and the shared one."""
    directory = "/var/lib/kubelet/device-plugins"
    words = node.words("/run/programs/anybinder-device-plugin", "--mount", MOUNT, "--contexts=5",
                       "--shared=1", *options)
    with Kubelet(node.path(directory)) as kubelet, subprocess.Popen(words) as runs:
        try:
            found = kubelet.plugins(2)
            yield found["anybinder.dev/binder"], found["anybinder.dev/binder-shared"]
        finally:
            subprocess.run(node.words("pkill", "-f", "anybinder-device"), check=True)
            runs.wait()


WAYS = {"mounts": ((), False), "names": (("--cdi", "/etc/cdi"), False),
        "own-users": (("--cdi", "/etc/cdi"), True)}


@pytest.mark.parametrize("way", WAYS)
def test_a_container_has_a_service(node, daemon, way):
    options, has_users = WAYS[way]
    with served(node, daemon), plugins(node, *options) as (own, _):
        answer, = own.answers(["pod1"])
        log = node.run("sh", "-c", SERVICE, given=given_by(answer), has_users=has_users)
    assert " 00000005 " in log, log
    assert (str(1 << 20) in log) == has_users, log


def test_a_mount_with_mapped_owners_is_refused(node, daemon):
    """As the kubelet has it made of a plugin's mounts in a pod with `hostUsers: false`."""
    with served(node, daemon), pytest.raises(grpc.RpcError, match="binder"):
        mapped = bind("/dev/binder", f"{MOUNT}/binder", (6, MAPPED), (7, MAPPED))
        node.run("true", given=[mapped], has_users=True)


def test_both_resources(node, daemon):
    with served(node, daemon), plugins(node) as both:
        given = [given_by(plugin.answers([one])[0])
                 for plugin, one in zip(both, ("pod0", "shared0"))]
        for fields_of_one in given:
            node.run("true", given=fields_of_one)
        # The kubelet drops what the second gives at the same path.
        seen = {one[1].split(b"\x12")[0]: one for one in given[1] + given[0]}
        with pytest.raises(grpc.RpcError, match="one-binder-resource"):
            node.run("true", given=seen.values())


def test_the_daemons_container_is_replaced(node, daemon):
    """Mounts of the runtime for it stay its own, and do not gather on the node."""
    seen = []
    for _ in range(3):
        before = node.mounted()
        with served(node, daemon):
            seen.append((before, node.mounted()))
    assert seen[0][1].count("/dev/shm") == 1 and MOUNT in seen[0][1]
    # From the second on: the seal below the mount stays.
    assert seen[1] == seen[2] and seen[0][1] == seen[1][1], seen


def test_nothing_takes_the_place_of_a_device(node, daemon):
    with served(node, daemon), plugins(node) as (own, _):
        answer, = own.answers(["pod1"])
    with pytest.raises(grpc.RpcError, match="read-only file system"):
        node.run("true", given=given_by(answer))
    assert not os.listdir(node.path(MOUNT))


def test_a_dead_daemon_fails_no_privileged_container(node, daemon):
    """Nor a stopped one. Another takes the place of the dead mount."""
    with served(node, daemon):
        node.signal(signal.SIGSTOP)
        node.run("true", is_privileged=True)
        node.signal(signal.SIGKILL)
        node.run("true", is_privileged=True)
    with served(node, daemon):
        assert node.mounted().count(MOUNT) == 2
