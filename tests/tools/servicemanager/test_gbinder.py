# SPDX-License-Identifier: GPL-2.0
"""Clients of libgbinder at each API level on one service manager, and its HIDL at hwbinder, in a
root of a newer Debian.

The suite is $SUITE, or sid; its packages libgbinder-tools and python3-gbinder are used. Making the
root takes a minute, the first time. Without root, or where no such root can be made, the tests are
skipped; but where $CI is set, that is a failure.
"""
import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import time

import pytest
from anybinder.bus import Bus
from anybinder.process import Program, in_own_mounts, until
from building import lock

TOP = pathlib.Path(__file__).resolve().parents[3]
SUITE = os.environ.get("SUITE", "sid")
ROOT = TOP / "build/roots" / f"gbinder-{SUITE}"
PACKAGES = "libgbinder-tools python3-gbinder python3-gi gir1.2-glib-2.0"
CLIENT = "/root/gbinder_client.py"
LEVELS = range(28, 37)
# A service of libgbinder reads the header of its own level only, with any service manager: levels
# with the same header call each other.
SAME_HEADER = ((28,), (29,), range(30, 37))
LIMIT_S = 60
BASE = "android.hidl.base@1.0::IBase"
INTERFACE = "anybinder.test@1.0::IDouble"
# In a mount namespace of its own: $1 the root, $2 the directory of the devices, $3 the level.
ENTER = """
printf '[General]\\nApiLevel = %s\\n' "$3" >"$2/../level$3" &&
mount --bind "$2/../level$3" "$1/etc/gbinder.conf" &&
mount --bind "$2" "$1/dev/binderfs" && root=$1 && shift 3 && exec chroot "$root" "$@" """


def name_of(level):
    return f"anybinder.test.api{level}"


def make_root():
    """Makes the root, unless it is there."""
    if not (ROOT / "usr/bin/binder-list").exists():
        script = str(TOP / "scripts/debian-root.sh")
        install = f"apt-get -q update && apt-get -q -y install --no-install-recommends {PACKAGES}"
        subprocess.run([script, "remove", ROOT], check=True)
        subprocess.run([script, "make", SUITE, ROOT], check=True)
        subprocess.run([script, "enter", ROOT, "sh", "-c", install], check=True,
                       stdout=subprocess.DEVNULL)
    source = pathlib.Path(__file__).with_name("gbinder_client.py")
    (ROOT / "root/gbinder_client.py").write_text(source.read_text(encoding="utf-8"))
    (ROOT / "dev/binderfs").mkdir(exist_ok=True)
    (ROOT / "etc/gbinder.conf").touch()
    for device in ("binder", "hwbinder", "vndbinder"):
        with contextlib.suppress(FileExistsError):
            (ROOT / "dev" / device).symlink_to(f"binderfs/{device}")


@pytest.fixture(scope="session", autouse=True)
def debian():
    """The root."""
    try:
        if os.geteuid():
            raise PermissionError("making a root file system needs root")
        with lock("gbinder-root"):
            make_root()
    except (PermissionError, subprocess.CalledProcessError) as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no root of {SUITE}: {error}")


@pytest.fixture
def own_bus():
    """A bus of one test."""
    with Bus(managers="binder,hwbinder,vndbinder") as bus:
        yield bus


def inside(bus, level, *words):
    """The words of a command that runs in the root as a client of this level."""
    return in_own_mounts("sh", "-ec", ENTER, "sh", str(ROOT), bus.mount, str(level), *words)


def output(bus, level, *words, device="/dev/binder"):
    """What a client of this level prints, which has to succeed; the exit status of binder-call says
    nothing about the call."""
    done = bus.execute(*inside(bus, level, *words), stderr=subprocess.STDOUT, limit_s=LIMIT_S,
                       environment={"DEVICE": device})
    assert done.returncode == 0 or words[0] == "binder-call", f"{shlex.join(words)}: {done.stdout}"
    return done.stdout


def hidl_output(bus, *words):
    return output(bus, 36, *words, device="/dev/hwbinder")


class Running(Program):
    """A process in the root whose lines are waited for."""

    def __init__(self, bus, level, *words, device="/dev/binder"):
        super().__init__(inside(bus, level, "python3", "-u", CLIENT, *words),
                         env={**bus.environment, "DEVICE": device})
        self.level, self.name = level, words[1]

    def says(self, line, times=1):
        """Waits until it has printed this line so often."""
        return self.wait_for(f"{line}\n", times)


@contextlib.contextmanager
def services_of(bus):
    """A service of each level."""
    services = [Running(bus, level, "serve", name_of(level)) for level in LEVELS]
    try:
        yield [service.says("added") for service in services]
    finally:
        for service in services:
            service.end()


@pytest.fixture(scope="module")
def services(debian):    # pylint: disable=unused-argument
    """A bus, and a service of each level on it."""
    with Bus(managers="binder,vndbinder") as bus, services_of(bus) as found:
        yield bus, found


def restart(bus):
    """Another service manager takes the place of this one."""
    pid = bus.manager_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: any(one["state"] == "answers" and one["pid"] != pid
                      for one in bus.status()["managers"]))


@pytest.mark.takes(10)
@pytest.mark.parametrize("level", LEVELS)
def test_a_client_with_services_of_every_level(services, level):
    """It lists and finds each, and calls those that read its header."""
    bus, found = services
    called = next(levels for levels in SAME_HEADER if level in levels)
    names = [("+" if service.level in called else "") + service.name for service in found]
    assert "works" in output(bus, level, "python3", CLIENT, "use", *names)
    listed = output(bus, level, "binder-list", "-d", "/dev/binder")
    assert all(one.name in listed for one in found), listed
    for service in found:
        text = output(bus, level, "binder-ping", "-d", "/dev/binder", service.name)
        assert "OK" in text, (service.name, text)
    text = output(bus, level, "binder-call", "-a", "-d", "/dev/binder", name_of(called[0]), "1",
                  "21", "reply", "i32")
    assert "42" in text, text


@pytest.mark.takes(30)
def test_no_client_finds_a_dead_service(own_bus):
    with services_of(own_bus):
        pass
    names = [name_of(level) for level in LEVELS]
    for level in LEVELS:
        assert "absent" in output(own_bus, level, "python3", CLIENT, "absent", *names)


@pytest.mark.takes(30)
def test_notifications(own_bus):
    """Of services of three levels, of which the last one comes after another service manager."""
    watchers = [Running(own_bus, level, "watch", "anybinder.test.late") for level in LEVELS]
    for watcher in watchers:
        watcher.says("watching")
    for times, level in enumerate((30, 36, 28), 1):
        if times == 3:
            restart(own_bus)
        service = Running(own_bus, level, "serve", "anybinder.test.late").says("added")
        for watcher in watchers:
            watcher.says("registered", times)
        service.end()
        # Clients that poll have to see that it is gone.
        time.sleep(3)
    for watcher in watchers:
        watcher.end()


@pytest.mark.takes(15)
def test_hidl(own_bus):
    """The same by HIDL, which has no levels; the second time with another service manager."""
    def hidl(role):
        return Running(own_bus, 36, role, name, device="/dev/hwbinder")

    name = f"{INTERFACE}/mine"
    early = hidl("watch").says("watching")
    for times in (1, 2):
        service = hidl("serve").says("added")
        early.says("registered", times)
        hidl("watch").says("registered").end()
        assert "works" in hidl_output(own_bus, "python3", CLIENT, "use", f"+{name}")
        text = hidl_output(own_bus, "binder-list", "-d", "/dev/hwbinder")
        assert name in text and f"{BASE}/mine" in text, text
        text = hidl_output(own_bus, "binder-ping", "-d", "/dev/hwbinder", name)
        assert "OK" in text, text
        text = hidl_output(own_bus, "binder-call", "-d", "/dev/hwbinder", name, "1", "21", "reply",
                           "i32", "i32")
        assert "0 42" in text, text
        service.end()
        assert "absent" in hidl_output(own_bus, "python3", CLIENT, "absent", name)
        if times == 1:
            restart(own_bus)
            # The library looks for the next service manager from time to time.
            time.sleep(3)
    early.end()
