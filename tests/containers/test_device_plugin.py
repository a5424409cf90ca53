# SPDX-License-Identifier: GPL-2.0
"""The device plugin of Kubernetes beside a kubelet that only does what concerns plugins, and a
daemon. The kubelet's messages and paths are written out here once more: they are what is tested."""
import concurrent.futures
import contextlib
import json
import os
import queue
import signal
import statistics
import subprocess
import time

import pytest
from anybinder.bus import Bus
from anybinder.daemon import Daemon
from anybinder.driver import Client
from anybinder.process import PATIENCE_S, in_own_mounts, memory_kib, until

grpc = pytest.importorskip("grpc", reason="needs python3-grpcio: `make setup` installs it")
NAMES = ("binder", "hwbinder", "vndbinder")


def number(value):
    """A varint."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7f | 0x80]) + number(value >> 7)


def message(*fields):
    """A message of Protocol Buffers: (number, text, message or number)."""
    out = b""
    for field, content in fields:
        if isinstance(content, int):
            out += number(field << 3) + number(content)
        else:
            content = content.encode() if isinstance(content, str) else content
            out += number(field << 3 | 2) + number(len(content)) + content
    return out


def varint(data, at):
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
    return value | data[at] << shift, at + 1


def fields(data, wanted):
    """The texts and messages with a number in a message."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        length, at = varint(data, at)
        if key & 7 == 2:
            if key >> 3 == wanted:
                found.append(data[at:at + length])
            at += length
    return found


def texts(data, *numbers):
    return tuple(fields(data, number)[0].decode() for number in numbers)


class Kubelet(grpc.GenericRpcHandler):
    """One life of the kubelet, as a context: all sockets are removed, then its own is made."""

    def __init__(self, directory):
        self.directory = directory
        self.registered = queue.Queue()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[self])

    def service(self, handler_call_details):
        assert handler_call_details.method == "/v1beta1.Registration/Register"
        return grpc.unary_unary_rpc_method_handler(self.register)

    def register(self, request, _):
        assert fields(request, 4) == [b"\x08\x01"]
        self.registered.put(texts(request, 1, 2, 3))
        return b""

    def __enter__(self):
        for name in os.listdir(self.directory):
            # The plugin may remove its own first, to make a new one.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.directory}/{name}")
        self.server.add_insecure_port(f"unix:{self.directory}/kubelet.sock")
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(None)

    def plugins(self, count):
        """The plugins that register next, by resource."""
        plugins = {}
        while len(plugins) < count:
            version, endpoint, resource = self.registered.get(timeout=PATIENCE_S)
            assert version == "v1beta1" and "/" not in endpoint
            plugin = Plugin(f"unix:{self.directory}/{endpoint}")
            # A socket that was removed when this kubelet began is followed by another.
            with contextlib.suppress(grpc.RpcError):
                plugin.call("GetDevicePluginOptions")
                plugins[resource] = plugin
        return plugins


class Plugin:
    """Calls a plugin."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)

    def call(self, method, request=b""):
        call = self.channel.unary_unary(f"/v1beta1.DevicePlugin/{method}")
        return call(request, timeout=PATIENCE_S)

    def lists(self):
        """The state of each device by its id, whenever it changes."""
        call = self.channel.unary_stream("/v1beta1.DevicePlugin/ListAndWatch")
        for devices in call(b"", timeout=PATIENCE_S):
            yield dict(texts(device, 1, 2) for device in fields(devices, 1))

    def allocate(self, *containers):
        """What each of these containers finds where: the node's files by the paths inside."""
        given = self.answers(*containers)
        return [dict(texts(bind, 1, 2) for bind in fields(one, 2)) for one in given]

    def answers(self, *containers):
        """The messages for these containers."""
        return fields(self.call("Allocate", message(*[
            (1, message(*[(1, one) for one in ids])) for ids in containers])), 1)


@contextlib.contextmanager
def manager_of(path):
    """Is context manager of the device; false if there is one."""
    with Client(path) as client:
        try:
            client.become_manager()
        except OSError:
            yield False
        else:
            yield True


@pytest.fixture(name="bus")
def started_bus(root, program):    # pylint: disable=unused-argument
    for name in ("anybinder", "anybinderd"):
        program(name)
    with Bus(managers="") as bus:
        yield bus


@pytest.fixture(name="options")
def further_options():
    """Of the plugin."""
    return []


@pytest.fixture
def directory(bus, program, tmp_path, options):
    """The directory of a kubelet, which comes up later than the plugin."""
    words = [program("anybinder-device-plugin"), "--mount", bus.mount, "--kubelet", str(tmp_path)]
    with open(f"{bus.directory}/log", "w", encoding="utf-8") as log, bus.started(
            *words, "--contexts=3", "--shared=2", *options, is_program=True, stdout=log, umask=0):
        yield str(tmp_path)


@pytest.fixture(name="plugins")
def registered_plugins(directory):    # pylint: disable=redefined-outer-name
    """What pods get of their own, and what they share."""
    with Kubelet(directory) as kubelet:
        plugins = kubelet.plugins(2)
        yield plugins["anybinder.dev/binder"], plugins["anybinder.dev/binder-shared"]


def check_contexts(own):
    one, other = own.allocate(["pod0"], ["pod2"])
    for name in NAMES:
        path = f"/dev/{name}"
        assert one[path] == one[f"/dev/binderfs/{name}"]
        with manager_of(one[path]) as first, manager_of(other[path]) as second:
            assert first and second, f"{name} is shared"
            with manager_of(one[path]) as third:
                assert not third, f"{name} has two managers"
    assert "/dev/binderfs/features" in one and "/dev/binderfs" not in one, one


def test_contexts_are_apart_with_each_kubelet(directory):
    for _ in range(2):
        with Kubelet(directory) as kubelet:
            check_contexts(kubelet.plugins(2)["anybinder.dev/binder"])


def test_a_context_is_made_anew(plugins):
    """Who has it still open has no part in what the next pod gets under the same name."""
    first, = plugins[0].allocate(["pod1"])
    with manager_of(first["/dev/binder"]) as before:
        second, = plugins[0].allocate(["pod1"])
        with manager_of(second["/dev/binder"]) as after:
            assert first == second and before and after


def test_a_mount_that_is_full_is_said_once(program, scratch):
    """With what helps."""
    sockets = f"{scratch}/kubelet"
    os.mkdir(sockets)
    words = [program("anybinder-device-plugin"), "--contexts=3", "--kubelet", sockets]
    with Daemon(scratch, "--max-devices=9") as daemon, Kubelet(sockets) as kubelet, \
            subprocess.Popen([*words, "--mount", daemon.mnt], stderr=subprocess.PIPE, text=True) \
            as runs:
        plugin = kubelet.plugins(1)["anybinder.dev/binder"]
        plugin.allocate(["pod1"])
        with pytest.raises(grpc.RpcError) as refused:
            plugin.allocate(["pod2"])
        assert "No space left on device" in refused.value.details()
        assert refused.value.details().endswith("see anybinderd's --max-devices")
        time.sleep(2.5)    # for two more looks
        runs.terminate()
        assert runs.stderr.read().count("pod2-") == 1


@pytest.mark.parametrize("ids", [[], ["pod0", "pod1"], ["pod3"], ["pod01"], ["pod+1"], ["../x"]],
                         ids=" ".join)
def test_wrong_requests_are_refused(plugins, ids):
    with pytest.raises(grpc.RpcError) as refused:
        plugins[0].allocate(ids)
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION


# Makes the mounts of a container as a runtime does, those with short paths first.
MOUNTS = """
root=$1; shift
mount -t tmpfs tmpfs "$root"
while [ $# -gt 0 ]; do
    if [ -d "$2" ]; then mkdir -p "$root$1"; else mkdir -p "$root${1%/*}"; touch "$root$1"; fi
    mount --bind "$2" "$root$1"; shift 2
done
"""


def test_a_container_cannot_have_both_resources(plugins, tmp_path):
    """The kubelet tells no plugin, and drops what two of them give at the same path."""
    own, = plugins[0].allocate(["pod0"])
    shared, = plugins[1].allocate(["shared0"])
    os.mkdir(f"{tmp_path}/root")
    for given, fits in ((own, True), (shared, True), ({**own, **shared}, False)):
        words = [word for path in sorted(given, key=lambda path: path.count("/"))
                 for word in (path, given[path])]
        made = subprocess.run(in_own_mounts("sh", "-ec", MOUNTS, "sh", f"{tmp_path}/root", *words),
                              stderr=subprocess.PIPE, text=True, check=False)
        assert (made.returncode == 0) == fits, made.stderr
        assert fits or "one-binder-resource" in made.stderr


def test_what_is_given_is_logged(bus, plugins):
    plugins[0].allocate(["pod0"], ["pod2"])
    with pytest.raises(grpc.RpcError):
        plugins[1].allocate(["shared7"])
    with open(f"{bus.directory}/log", encoding="utf-8") as file:
        log = file.read()
    assert "anybinder.dev/binder: pod0, pod2: given\n" in log, log
    assert "anybinder.dev/binder-shared: shared7: not given: there is no device" in log, log


def test_other_users_cannot_connect(directory):
    with Kubelet(directory) as kubelet:
        kubelet.plugins(2)
        sockets = [os.stat(f"{directory}/anybinder-dev-{name}.sock") for name in
                   ("binder", "binder-shared")]
        assert not any(found.st_mode & 0o022 for found in sockets)


def test_what_is_damaged_or_too_much_is_refused(bus, plugins):
    """And does not fill the log."""
    own, _ = plugins
    for request in (b"\xff" * 1000, bytes(8 << 20), message((1, message((1, "x\n" * 500000)))),
                    message(*[(1, message((1, "pod0")))] * 100000)):
        with pytest.raises(grpc.RpcError):
            own.call("Allocate", request)
    own.allocate(["pod0"])
    with open(f"{bus.directory}/log", encoding="utf-8") as file:
        log = file.read()
    assert "\nx" not in log and len(log) < 4096, log[:4096]


def test_only_the_call_before_a_start_is_announced(plugins):
    assert plugins[0].call("GetDevicePluginOptions") == b"\x08\x01"
    with pytest.raises(grpc.RpcError) as refused:
        plugins[0].call("GetPreferredAllocation")
    assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED


def before_start(plugin, *ids):
    plugin.call("PreStartContainer", message(*[(1, one) for one in ids]))


def test_a_container_that_starts_again_finds_devices(bus, plugins):
    """They are made, or it does not start: the runtime would make directories of their names."""
    own, shared = plugins
    given, = own.allocate(["pod0"])
    os.unlink(given["/dev/hwbinder"])
    before_start(own, "pod0")
    before_start(shared, "shared0")
    with manager_of(given["/dev/hwbinder"]) as is_made:
        assert is_made
    bus.run("down")
    os.makedirs(given["/dev/binder"])
    for plugin, one in ((own, "pod0"), (shared, "shared0"), (own, "pod3")):
        with pytest.raises(grpc.RpcError):
            before_start(plugin, one)


def test_shared_devices_are_the_machines(bus, plugins):
    plugins[0].allocate(["pod0"])
    one, other = plugins[1].allocate(["shared0"], ["shared1"])
    assert one == other
    assert one["/dev/binder"] == one["/dev/binderfs/binder"] == bus.path()
    assert "/dev/binderfs" not in one and "pod" not in "".join(one), one


def test_a_daemon_that_returns_has_the_devices(bus, plugins):
    own, _ = plugins
    lists = own.lists()
    assert next(lists) == dict.fromkeys(("pod0", "pod1", "pod2"), "Healthy")
    bus.run("down")
    assert next(one for one in lists if "Healthy" not in one.values())
    with pytest.raises(grpc.RpcError):
        own.allocate(["pod0"])
    bus.run("up", "--mode", "0666", "--managers", "")
    assert next(one for one in lists if "Unhealthy" not in one.values())
    with manager_of(bus.path("pod0-vndbinder")) as is_made:
        assert is_made


def test_no_call_waits_for_a_server_that_is_stopped(bus, plugins):
    """The kubelet admits no pod of the node while one waits."""
    own, _ = plugins
    server = bus.server_pid()
    lists = own.lists()
    assert "Healthy" in next(lists).values()
    os.kill(server, signal.SIGSTOP)
    try:
        for _ in range(2):
            with pytest.raises(grpc.RpcError) as refused:
                own.allocate(["pod0"])
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
            next(one for one in lists if "Healthy" not in one.values())
            own.call("GetDevicePluginOptions")
            lists = own.lists()
    finally:
        os.kill(server, signal.SIGCONT)
    next(one for one in lists if "Unhealthy" not in one.values())
    check_contexts(own)


def start(plugin, name):
    """What the kubelet calls for a container. Returns how long devices took, in ms."""
    begin = time.monotonic()
    plugin.allocate([name])
    made = time.monotonic()
    before_start(plugin, name)
    return 1000 * (made - begin)


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_many_contexts(bus, program, tmp_path, count):
    """A full node, whose containers start at once. With `pytest -s` the figures of CONTAINERS.md:
    a device is a third of a context."""
    pid, names = bus.server_pid(), [f"pod{one}" for one in range(min(count, 250))]
    before = memory_kib(pid)
    with Kubelet(str(tmp_path)) as kubelet, bus.started(
            program("anybinder-device-plugin"), "--mount", bus.mount, "--kubelet", str(tmp_path),
            f"--contexts={count}", is_program=True, stdout=subprocess.DEVNULL):
        plugin = kubelet.plugins(1)["anybinder.dev/binder"]
        until(lambda: os.path.exists(bus.path(f"pod{count - 1}-vndbinder")))
        idle_kib = (memory_kib(pid) - before) / count
        one = statistics.median(start(plugin, name) for name in names) / 3
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pods:
            begin = time.monotonic()
            list(pods.map(lambda name: start(plugin, name), names))
            all_s = time.monotonic() - begin
    print(f"{count} contexts: {one:.2f} ms a device, {len(names)} at once in {all_s:.2f} s, "
          f"{idle_kib:.1f} KiB each")


@pytest.fixture(name="cdi")
def directory_of_specifications(tmp_path_factory):
    return tmp_path_factory.mktemp("cdi")


class TestNames:
    """By CDI: mounts of a plugin have their owners mapped in a user namespace, which FUSE refuses;
    those of a specification do not."""

    @pytest.fixture(name="options")
    def options_for_names(self, cdi):
        return ["--cdi", str(cdi)]

    def test_a_name_is_what_a_container_finds(self, bus, plugins, cdi):
        for plugin, one, file in ((plugins[0], "pod1", "anybinder-dev-binder.json"),
                                  (plugins[1], "shared0", "anybinder-dev-binder-shared.json")):
            answer, = plugin.answers([one])
            name, = fields(answer, 5)
            assert texts(name, 1) == (f"anybinder.dev/binder={one}",) and not fields(answer, 2)
            found = json.loads((cdi / file).read_text(encoding="utf-8"))
            edits, = (device["containerEdits"] for device in found["devices"]
                      if device["name"] == one)
            mounts = {mount["containerPath"]: mount["hostPath"] for mount in edits["mounts"]}
            assert all(map(os.path.exists, mounts.values()))
            prefix = "pod1-" if one == "pod1" else ""
            assert mounts["/dev/hwbinder"] == bus.path(f"{prefix}hwbinder")
            assert mounts["/dev/binderfs/features"] == bus.path("features")
