# SPDX-License-Identifier: Apache-2.0
"""The anybinder command: up, down, status, doctor, upgrade; crashes of what it has started."""
import contextlib
import gzip
import os
import pathlib
import signal
import subprocess

import pytest
from anybinder.bus import Bus
from anybinder.call import Command
from anybinder.process import (
    as_user, children_of, in_own_mounts, is_mounted, is_running, own_mounts, stat_of, until)

from checked import SYSTEM, USER, Checked


def test_nothing_is_up(absent, scratch):
    absent(3, "nothing is up", "status")
    with open(f"{scratch}/file", "w", encoding="ascii"):
        absent(1, "is not a directory", "--mount", f"{scratch}/file", "up")


@pytest.mark.parametrize("words", [
    ["list"], ["call", "x", "1"], ["call", "x", "1", "--oneway", "--interface", "a.b"],
    ["top", "--once"]], ids=" ".join)
def test_files_in_place_of_devices(absent, scratch, words):
    os.mkdir(f"{scratch}/files")
    for name in ("binder", "binder-control"):
        with open(f"{scratch}/files/{name}", "w", encoding="ascii"):
            pass
    absent(1, "does not answer as a Binder device", "--mount", f"{scratch}/files", *words)


def test_doctor(system):
    system(0, "^the daemon works here: `anybinder up`", "doctor")
    system(0, "trial  *ok .*files were passed both ways, and a death was told", "doctor")
    assert system.command.json("doctor")["daemon"] is True
    system(0, "paths  *limited  *there is no /dev/binder.*anybinder run", "doctor")


def in_mounts(absent, status, pattern, prepare):
    """The same as doctor says it in a pipe, where a script has mounted something."""
    script = f"{prepare}; {absent.command.program} doctor | cat"
    absent(status, pattern, *in_own_mounts("sh", "-c", script), program=[])


def test_doctor_without_fuse(absent):
    in_mounts(absent, 0, "fuse  *no  *there is no /dev/fuse -> .*mknod",
              "mount -t tmpfs tmpfs /dev")


def test_doctor_without_namespaces(absent, user_namespaces):    # pylint: disable=unused-argument
    script = f"echo 0 >/proc/sys/user/max_user_namespaces; {absent.command.program} doctor | cat"
    absent(0, "namespaces  *limited .* -> sysctl user.max_user_namespaces",
           "--map-root-user", "sh", "-c", script, program="unshare")


def test_doctor_reads_the_kernels_configuration(absent, scratch):
    """A kernel that shows it, here one without any option."""
    if not os.path.exists("/proc/config.gz"):
        pytest.skip("this kernel does not show its configuration")
    with gzip.open(f"{scratch}/config.gz", "w") as file:
        file.write(b"# CONFIG_MODULES is not set\n")
    in_mounts(absent, 0, "^modules  *no .*(no modules at all|built without it)",
              f"mount --bind {scratch}/config.gz /proc/config.gz")


def test_up_says_how_to_run(system):
    system(0, "look for /dev/binder: start.*anybinder run", "up")


def test_doctor_on_a_node(system):
    """Runtimes walk through /dev there, and would wait for a daemon that is stopped."""
    system(0, "up at", "up")
    system(0, "^mount  *ok", "doctor")
    system.shell(0, "", "mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/kubelet")
    system(0, "^mount  *limited .*MOUNT=/run", "doctor")


def test_up_is_asked_for_twice(present):
    present(0, "already up", "up")


def test_doctor_of_what_is_up(present, scratch):
    said = present(0, "server  *ok  *process [0-9]*, version .* number 1 since .*, 0 crashes",
                   "doctor")
    assert "tried on binder, hwbinder, vndbinder" in said.splitlines()[-1], said
    present(0, "device  *ok  *binder: .*files were passed both ways", "doctor")
    present(0, "bundle is written", "doctor", "--bundle", f"{scratch}/bundle")
    bundle = pathlib.Path(f"{scratch}/bundle").read_text(encoding="utf-8")
    assert "tried on binder" in bundle and "IServiceManager/default" not in bundle, bundle


def test_upgrade(own_bus):
    check = Checked(own_bus)
    check(0, "can take over; a hand-over would pause", "upgrade", "--dry-run")
    check(0, "process [0-9]*, version .* has taken over", "upgrade")
    check(0, "server  *ok  *process .* number 2 since", "doctor")


def test_status(present):
    present(0, "served by a daemon", "status")
    assert "daemon" in present.command.json("status")["served_by"]
    present(0, "supervisor [0-9]*: `kill [0-9]*` ends", "status")
    present(0, "server [0-9]*: when it is killed, the supervisor starts", "status")
    present(0, "extended_error", "status")


# ---- other users, other state directories -------------------------------------------------------

def test_a_denied_user_cannot_know_what_is_there(own_bus, reachable, scratch):
    os.chmod(scratch, 0o755)
    for device in ("binder", "hwbinder", "vndbinder"):
        os.chmod(own_bus.path(device), 0o600)
    os.mkdir(f"{scratch}/user")
    os.chown(f"{scratch}/user", USER, USER)
    user = Checked(Command(own_bus.mount, f"{scratch}/user/state", as_user(USER), reachable))
    user(0, "may not open binder, .* is not known", "status")
    user(8, "^you may not open binder, hwbinder, vndbinder: Run this as", "doctor")
    os.makedirs(f"{scratch}/closed/state", 0o700)
    os.chmod(f"{scratch}/closed", 0o700)
    user(8, "closed/state cannot be opened: Permission denied", "--state-dir",
         f"{scratch}/closed/state", "down")


def test_a_command_that_needs_no_state_looks_at_none(present, reachable, scratch):
    """As in a container with a /tmp that everybody may write, without the sticky bit."""
    for path, mode in ((scratch, 0o755), (f"{scratch}/open", 0o777)):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
    user = Checked(Command(present.command.mount, f"{scratch}/open/state", as_user(USER),
                           reachable))
    user(0, "served by a daemon", "status")
    # Another user's.
    os.mkdir(f"{scratch}/open/state")
    user(0, "manager", "list")
    user(1, "Other users can write to the directory .*open", "down")


def test_beside_what_another_has_started(present, scratch):
    other = ["--state-dir", f"{scratch}/other"]
    present(1, "You did not start the daemon.*user", *other, "down")
    present(0, "service manager [0-9]* on binder: running, started by [^a]", *other, "status")
    present(0, "nothing was started", *other, "up")
    present(0, "served already, by daemon", *other, "up", "--managers", "vndbinder")
    present(0, "the daemon goes on", *other, "down")
    present(0, "service manager [0-9]* on binder: running", "status")


def test_a_daemon_of_another_mount_namespace_is_not_this_ones(system, reachable):
    """Two with the same path; an ordinary user cannot read which namespace a process is in."""
    system(0, "up at", "up")
    with own_mounts(SYSTEM) as before:
        other = Command("/dev/binderfs", "/run/anybinder", before, reachable)
        user = Command("/dev/binderfs", "/run/user", [*before, *as_user(USER)], reachable)
        other.run("up", "--mode", "666")
        pid = other.json("status")["daemon"]["pid"]
        Checked(user)(1, f"it is process {pid} ", "down")
        other.run("down")


PODS = [f"pod{number}-{name}" for number in range(10) for name in ("binder", "hwbinder")]


def test_devices_of_pods_are_apart(programs):    # pylint: disable=unused-argument
    """A device plugin made them for their pods. What is in a pod has another pid there."""
    with Bus("--devices", ",".join(["binder", *PODS]), managers="binder") as bus, bus.started(
            "unshare", "--pid", "--fork", "--kill-child", bus.program, "servicemanager",
            "--device", PODS[-1], is_program=True):
        managers = until(lambda: [one for one in bus.status()["managers"] if one["device"] ==
                                  PODS[-1] and one["state"] == "answers"])
        assert managers[0]["pid"] is None
        check = Checked(bus)
        check(0, "^devices: binder\nfor pods: 10 contexts with 20 devices$", "status")
        check(0, f"^service managers of pods, running: {PODS[-1]}$", "status")
        check(0, "works here, tried on binder$", "doctor")
        assert "pod9-" not in bus.run("container", "cdi")
        assert f"={bus.mount}:" not in bus.run("container", "podman")


# ---- what ends ----------------------------------------------------------------------------------

def test_a_silent_service_manager_is_as_bad_as_a_dead_one(own_bus):
    check = Checked(own_bus)
    os.kill(own_bus.manager_pid(), signal.SIGSTOP)
    check(4, "MANAGER.*OF binder DOES NOT ANSWER", "status")
    check(4, "^what was tried on binder, hwbinder of .* fails", "doctor")
    check(9, "did not finish within 1 s", "--timeout", "1", "list")
    check(9, '"kind": "timed-out"', "list", "--timeout", "1", "--json")


def managers_below(pid, is_kept=False):
    """The service managers that a process has started, by way of their keepers."""
    for child in children_of(pid):
        words = pathlib.Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8").split("\0")
        if is_kept and "servicemanager" in words and "--keep" not in words:
            yield child
        yield from managers_below(child, "--keep" in words)


def test_a_service_manager_is_waited_for_as_long_as_is_said(absent):
    """One is stopped before it is ready, unless it was faster. Nothing is left behind."""
    for _ in range(100):
        with absent.command.started("--timeout", "6", "up") as up:
            found = []
            while not found and up.poll() is None:
                with contextlib.suppress(OSError):
                    found = list(managers_below(up.pid))
            for pid in found:
                os.kill(pid, signal.SIGSTOP)
            said, _ = up.communicate()
        if up.returncode:
            break
        absent(0, "down at", "down")
    assert up.returncode == 9 and "did not start in time" in said and "--timeout" in said, said
    absent(3, "nothing is up", "status")


def state_of_manager(bus):
    """What status says of the first service manager; it may just be started."""
    managers = bus.status()["managers"]
    return (managers[0]["state"], managers[0]["pid"]) if managers else (None, None)


@pytest.mark.takes(10)
def test_a_service_manager_is_started_again_until_it_has_died_five_times(own_bus):
    check = Checked(own_bus)
    _, pid = state_of_manager(own_bus)
    for _ in range(4):
        os.kill(pid, signal.SIGKILL)
        _, pid = until(lambda before=pid: next(
            (one for one in [state_of_manager(own_bus)]
             if one[0] == "answers" and one[1] != before), None))
        check(0, f"^ *{pid}  *servicemanager.*manager", "list")
        check(0, f"service manager {pid} on binder: running", "status")
    os.kill(pid, signal.SIGKILL)
    until(lambda: state_of_manager(own_bus)[0] == "dead")
    said = check(4, "MANAGER.*OF binder IS DEAD", "status")
    assert "anybinder up" in said and "manager.log" in said, said
    log = own_bus.log()
    assert "of binder, hwbinder died 5 times within 60 s" in log, log
    assert "is not started again" in log, log
    check(4, '"state": "dead"', "status", "--json")
    check(0, "already up", "up")
    check(0, "on binder: running", "status")


def test_a_stopped_server_is_named(own_bus):
    check = Checked(own_bus)
    server = own_bus.server_pid()
    os.kill(server, signal.SIGSTOP)
    until(lambda: stat_of(server)[1] == "T")
    check(4, f"goes on after .kill -CONT {server}", "status")
    check(4, f"its server, process {server}, is stopped. Continue it", "doctor")
    check(4, f"its server, process {server}, is stopped", "list")
    os.kill(server, signal.SIGCONT)
    check(0, "on binder: running", "status")


def kill_daemon(bus):
    pid = bus.json("status")["daemon"]["pid"]
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_daemon_that_was_killed(own_bus):
    check = Checked(own_bus)
    kill_daemon(own_bus)
    # A busy machine takes a moment to end it; its service managers may end before.
    until(lambda: "THE DAEMON OF" in own_bus.outcome("status")[1])
    check(4, "THE DAEMON OF .* IS DEAD", "status")
    check(4, "^The daemon of .* is dead", "doctor")
    check(4, "is dead", "list")
    check(0, "up at", "up")
    check(0, "manager", "list")
    # Other processes of the daemon end a moment later.
    for _ in range(3):
        pid = kill_daemon(own_bus)
        until(lambda ended=pid: not is_running(ended))
        check(0, "up at", "up")


def test_a_mount_that_was_detached(own_bus):
    check = Checked(own_bus)
    subprocess.run(["umount", "-l", own_bus.mount], check=True)
    check(4, "NOTHING IS MOUNTED AT .*but a daemon runs for it", "status")
    check(0, "down at", "down")


def test_down_leaves_nothing(absent, scratch):
    absent(0, "up at", "up")
    absent(0, "down at", "down")
    assert os.listdir(scratch) == [] and not is_mounted(f"{scratch}/mount")


def test_down_names_what_it_cuts_off(own_bus):
    with own_bus.started("demo-service") as service:
        until(lambda: "demo" in own_bus.run("list"))
        Checked(own_bus)(0, f"cut off: .*demo.* on binder \\(process {service.pid}", "down")


# ---- what up starts -----------------------------------------------------------------------------

def test_up_without_a_service_manager(absent):
    absent(0, "up at", "up", "--managers", "")
    absent(0, "no service manager on binder", "status")
    absent(5, "anybinder servicemanager --device binder", "list")
    absent(0, "down at", "down")


@pytest.mark.parametrize("words, said, listed", [
    (["--devices", "binder"], "on binder", []),
    (["--managers", "binder,vndbinder"], "on vndbinder", ["--device", "vndbinder"]),
    ([], "on binder", []),
    (["--level", "34", "--level", "vndbinder=28"], "on binder", [])],
    ids=["one device", "two managers", "none", "levels"])
def test_up_with_options(absent, words, said, listed):
    absent(0, said, "up", *words)
    absent(0, "manager", "list", *listed)
    absent(0, "binder: .*files were passed both ways", "doctor")
    absent(0, "down at", "down")


@pytest.mark.parametrize("words, said", [
    (["--level", "27"], "27 is no API level"),
    (["--policy", "/nonexistent"], "the rules in /nonexistent cannot be used")],
    ids=["level", "policy"])
def test_up_with_wrong_options_leaves_nothing(absent, words, said):
    absent(1, said, "up", *words)
    absent(3, "Nothing is up", "down")


def test_a_second_service_manager(present):
    present(12, "has a service manager already", "servicemanager")


def test_android_in_a_container(system):
    """The settings, and whether a service manager of ours is where Android's has to be."""
    link = "for one in binder hwbinder vndbinder; do ln -s binderfs/$one /dev/$one; done"
    noted = "mount -t tmpfs tmpfs /var/lib; mkdir /var/lib/waydroid; " \
        "echo binder = bonder >/var/lib/waydroid/waydroid.cfg; ln -s binderfs/binder /dev/bonder"
    in_the_way = "no  *{}: a service manager of anybinder stands where Android's has to"
    waydroid = "container", "waydroid"
    system(0, "", "up", "--mode", "0660")
    system(4, "node  *no  *.dev.binder does not exist -> ", *waydroid)
    system.shell(0, "", link)
    system(4, "node  *no  *.dev.binder is not for all users -> ANDROID=yes or MODE", *waydroid)
    text = system(4, f"manager  *{in_the_way.format('hwbinder')} -> .*ANDROID=yes", *waydroid)
    assert "binder = binder\nvndbinder = vndbinder\nhwbinder = hwbinder\n" in text
    assert "\nandroid " not in system(0, "", "doctor")
    system.shell(0, "", noted)
    system(0, f"^android  *{in_the_way.format('hwbinder')}", "doctor")
    system(0, "", "down")
    system(0, "", "up", "--mode", "0666", "--managers", "")
    text = system(0, "^binder = bonder$", *waydroid)
    assert text.count("none is there yet") == 3 and text.count("for all users") == 3, text
    text = system(0, "has no service manager -> Android in a container brings its own", "doctor")
    assert "\nandroid " not in text and "anybinder up" not in text, text
    system(0, "no service manager on binder; Android in a container brings one", "status")
    is_mountable = "binder" in pathlib.Path("/proc/filesystems").read_text(encoding="ascii").split()
    system(0 if is_mountable else 4, "^binderfs ", "container", "redroid")
