# SPDX-License-Identifier: GPL-2.0
"""A real kubelet and containerd (node.sh), with the manifests that `anybinder container kubernetes`
prints as static pods. On request: it compiles the kubelet first."""
import contextlib
import glob
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from anybinder.process import LIBC, until
from building import TOP
from test_runtime import MOUNT, NODE, SECONDS, SERVICE, Node, grpc, running

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(900)]
IMAGE = "anybinder:1.0.0"
MANIFESTS = "/etc/kubernetes/manifests"
ANYBINDER = "/run/programs/anybinder", "--mount", MOUNT
SYSCTLS = "vm.overcommit_memory", "vm.panic_on_oom", "kernel.panic", "kernel.panic_on_oops"


class Kubelet(Node):
    """A node whose kubelet runs static pods."""

    def run(self, *command, check=True):
        """What a command on the node prints."""
        return subprocess.run(self.words(*command), stdout=subprocess.PIPE, text=True, check=check,
                              timeout=SECONDS).stdout

    def known(self):
        """The pods that the kubelet knows, by their names without the node's; none while it does
        not run."""
        kubelet = http.client.HTTPConnection("127.0.0.1", 10255, timeout=SECONDS)
        try:
            # A socket stays in the network where it was made.
            with open("/proc/self/ns/net", "rb") as our, \
                    open(f"/proc/{self.pid}/ns/net", "rb") as its:
                LIBC.setns(its.fileno(), 0)
                try:
                    kubelet.connect()
                finally:
                    LIBC.setns(our.fileno(), 0)
            kubelet.request("GET", "/pods")
            pods = json.load(kubelet.getresponse())["items"] or []
        except ConnectionError:
            pods = []
        finally:
            kubelet.close()
        return {pod["metadata"]["name"].removesuffix("-node"): pod for pod in pods}

    def status(self, name):
        return self.known().get(name, {}).get("status", {})

    def wait(self, name, phase="Succeeded"):
        """Waits until a pod is in a phase, and returns its status."""
        def there():
            status = self.status(name)
            ended = status.get("phase") in ("Succeeded", "Failed")
            assert not ended or status["phase"] == phase, f"{status}\n{self.log(name)}"
            return status.get("phase") == phase and status
        return self.until(there, name)

    def until(self, condition, name):
        """Waits for what concerns a pod."""
        try:
            return until(condition, SECONDS)
        except AssertionError:
            print(self.status(name), self.log(name), sep="\n")
            raise

    def reason(self, name):
        """Why the container of a pod does not run."""
        states = [one["state"] for one in self.status(name).get("containerStatuses", [])]
        return "".join(how.get("message", "") for state in states for how in state.values())

    def log(self, name):
        """What the containers of a pod have written."""
        paths = glob.glob(self.path(f"/var/log/pods/*_{name}-node_*/*/*.log"))
        return "".join(pathlib.Path(path).read_text(encoding="utf-8") for path in sorted(paths))

    @contextlib.contextmanager
    def pod(self, manifest):
        """A static pod, which is removed at the end. Gives its name."""
        name = re.search(r'"?name"?: "?([a-z0-9-]+)', manifest)[1]
        path = self.path(f"{MANIFESTS}/{name}.yaml")
        pathlib.Path(path).write_text(manifest, encoding="utf-8")
        try:
            yield name
        finally:
            os.unlink(path)
            until(lambda: name not in self.known(), SECONDS, f"{name} ends")

    @contextlib.contextmanager
    def started(self, *command):
        """A command of anybinder on the node."""
        with subprocess.Popen(self.words(*ANYBINDER, *command)) as runs:
            try:
                yield
            finally:
                self.run("pkill", "-f", f"programs/anybinder.*{command[0]}", check=False)

    def is_served(self):
        return os.path.exists(self.path(f"{MOUNT}/binder-control"))

    def is_offered(self):
        """Whether the kubelet has healthy devices to give."""
        socket = self.path("/var/lib/kubelet/pod-resources/kubelet.sock")
        with grpc.insecure_channel(f"unix:{socket}") as channel, contextlib.suppress(grpc.RpcError):
            call = channel.unary_unary("/v1.PodResourcesLister/GetAllocatableResources")
            return b"anybinder.dev/binder\x12" in call(b"", timeout=SECONDS)
        return False


def pod(name, script, limits=(), is_privileged=False, **spec):
    """The manifest of a pod that runs a script."""
    container = {"name": "one", "image": IMAGE, "command": ["sh", "-c", script],
                 "resources": {"limits": {f"anybinder.dev/{one}": "1" for one in limits}},
                 "securityContext": {"privileged": is_privileged}}
    container |= spec.pop("container", {})
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container],
        **spec}})


def static(document):
    """A pod in place of a DaemonSet."""
    name = re.search(r"^  name: (.*)", document, re.M)[1]
    spec = re.search(r"^    spec:\n(?:      .*\n?)*", document, re.M)[0]
    return "\n".join(["apiVersion: v1", "kind: Pod", "metadata:", f"  name: {name}",
                      "  namespace: kube-system", *(line[4:] for line in spec.splitlines())])


def sysctls():
    return subprocess.run(["sysctl", *SYSCTLS], stdout=subprocess.PIPE, check=True).stdout


@pytest.fixture(scope="module", name="machine_node")
def started_node(program, tmp_path_factory):
    if not shutil.which("go"):
        pytest.skip("needs go, for the kubelet")
    subprocess.run([NODE, "kubelet"], check=True)
    before = sysctls()
    with running(program, tmp_path_factory.mktemp("node"), f"{TOP}/build/kubelet/kubelet") as node:
        kubelet = Kubelet(node.pid)
        yield kubelet
        print(kubelet.run("tail", "-n", "30", "/var/log/kubelet"))
    assert sysctls() == before


@pytest.fixture(scope="module", name="manifests")
def printed_manifests(program):
    done = subprocess.run([program("anybinder"), "container", "kubernetes", "--own", "--cdi",
                           "--image", IMAGE], stdout=subprocess.PIPE, text=True, check=True)
    return [static(one) for one in done.stdout.replace("--shared=0", "--shared=2").split("\n---\n")]


@pytest.fixture(scope="module", name="served")
def node_with_devices(machine_node, manifests):
    with machine_node.pod(manifests[0]), machine_node.pod(manifests[1]):
        yield machine_node


@pytest.fixture
def node(served):
    until(served.is_offered, SECONDS)
    return served


# A user who may not use the directory above /tmp, and owners that the kubelet has mapped.
VARIANTS = {
    "plain": {},
    "other-user": {"securityContext": {"runAsUser": 1000},
                   "volumes": [{"name": "tmp", "emptyDir": {}}],
                   "container": {"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}},
    "own-users": {"hostUsers": False},
}
# Of a process of the pod, by the pid that it has there.
FROZEN = """
anybinder --mount /dev/binderfs freeze $!
! anybinder --mount /dev/binderfs call anybinder.demo.IAddInts/default 1 i32 2 i32 3
anybinder --mount /dev/binderfs unfreeze $!
anybinder --mount /dev/binderfs status
"""


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_pod_has_a_service(node, variant):
    with node.pod(pod(variant, f"set -e {SERVICE}{FROZEN}", ["binder"], **VARIANTS[variant])):
        node.wait(variant)
        assert " 00000005 " in node.log(variant)
        assert (" 0 0 " in " ".join(node.log(variant).split())) == (variant != "own-users")


def test_the_example(node):
    with open(f"{TOP}/examples/kubernetes/pods.yaml", encoding="utf-8") as file:
        own, _ = file.read().split("\n---\n")
    with node.pod(re.sub("image: .*", f"image: {IMAGE}", own)) as name:
        node.wait(name)
        assert " 00000005 " in node.log(name)


def test_who_calls_is_known_on_the_node(node):
    """By the user that its process has there, in a pod with users of its own."""
    with open(node.path("/run/IC.aidl"), "w", encoding="utf-8") as file:
        file.write("package a; interface IC { void f(); }")
    fake = "fake", "--aidl", "/run/IC.aidl", "--log", "/run/calls", "a.IC/default"
    script = """anybinder --mount /dev/binderfs wait a.IC/default
        anybinder --mount /dev/binderfs call a.IC/default 1"""
    with node.started("servicemanager"):
        until(lambda: "manager" in node.run(*ANYBINDER, "list", check=False), SECONDS)
        with node.started(*fake), node.pod(pod("caller", script, ["binder-shared"], hostUsers=False,
                                               securityContext={"runAsUser": 1000})) as name:
            node.wait(name)
            call = json.loads(node.run("cat", "/run/calls"))
            # The kubelet gives each pod 65,536 of the node's users.
            assert call["uid"] >= 65536 and call["uid"] % 65536 == 1000 and call["pid"], call


def test_both_resources(node):
    with node.pod(pod("both", "true", ["binder", "binder-shared"])) as name:
        node.until(lambda: "one-binder-resource" in node.reason(name), name)
    for resource in ("binder: pod", "binder-shared: shared"):
        assert re.search(f"{resource}[0-9]+: given", node.log("anybinder-device-plugin"))


def test_a_stopped_daemon_holds_up_nobody_else(node):
    node.signal(signal.SIGSTOP)
    try:
        with node.pod(pod("refused", "true", ["binder"])) as name:
            # The plugin's words, or the kubelet's once the list says so.
            message = node.wait(name, "Failed")["message"]
            assert re.search("not served|no healthy devices", message), message
        for is_privileged in (False, True):
            with node.pod(pod(f"plain{is_privileged:d}", "true", (), is_privileged)) as name:
                node.wait(name)
    finally:
        node.signal(signal.SIGCONT)


def test_the_daemons_pod_is_replaced(node, manifests):
    """Its runtime's mounts stay its own, and its mounts do not gather on the node."""
    before = node.mounted()
    assert before.count(MOUNT) >= 1 and "/dev/shm" in before
    path = node.path(f"{MANIFESTS}/anybinderd.yaml")
    for _ in range(3):
        os.unlink(path)
        until(lambda: "anybinderd" not in node.known(), SECONDS)
        until(lambda: not node.is_served(), SECONDS)
        pathlib.Path(path).write_text(manifests[0], encoding="utf-8")
        until(node.is_served, SECONDS)
        assert node.mounted() == before
    assert not os.path.exists(node.path("/dev/termination-log"))


def test_a_dead_daemon_fails_no_privileged_container(node):
    node.signal(signal.SIGKILL)
    with node.pod(pod("privileged", "true", (), True)) as name:
        node.wait(name)
    until(node.is_served, SECONDS)


def test_a_container_waits_for_the_daemon(node, manifests):
    """Nothing is made in place of its devices meanwhile."""
    script = "ls -ld /dev/binder; anybinder --mount /dev/binderfs status; sleep 1"
    with node.pod(pod("again", script, ["binder"], restartPolicy="Always")) as name:
        node.until(lambda: "binder" in node.log(name), name)
        path = node.path(f"{MANIFESTS}/anybinderd.yaml")
        os.unlink(path)
        until(lambda: "anybinderd" not in node.known(), SECONDS)
        node.until(lambda: "not served" in node.reason(name), name)
        assert not os.listdir(node.path(MOUNT))
        pathlib.Path(path).write_text(manifests[0], encoding="utf-8")
        seen = len(node.log(name))
        node.until(lambda: "/dev/binder" in node.log(name)[seen:], name)
        assert "drwx" not in node.log(name)


def test_the_node_sees_its_pods(node):
    script = "exec anybinder --mount /dev/binderfs servicemanager --device binder"
    with node.pod(pod("manager", script, ["binder"])) as name:
        node.wait(name, "Running")
        wanted = (r"(?s)managers of pods, running: pod\d+-binder\n"
                  ".*for pods: 64 contexts with 192 devices")
        until(lambda: re.search(wanted, node.run(*ANYBINDER, "status", check=False)), SECONDS)
        assert "pod" not in node.run(*ANYBINDER, "container", "cdi")


def test_a_kubelet_that_starts_again(node):
    with node.pod(pod("stays", SERVICE + "sleep 1000", ["binder"])) as name:
        node.wait(name, "Running")
        started = node.status(name)["containerStatuses"][0]["state"]["running"]["startedAt"]
        node.run("pkill", "-9", "-x", "kubelet")
        until(lambda: not node.known(), SECONDS)
        until(node.is_offered, SECONDS)
        state = node.wait(name, "Running")["containerStatuses"][0]["state"]
        assert state["running"]["startedAt"] == started
