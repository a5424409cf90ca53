# SPDX-License-Identifier: Apache-2.0
"""The anybinder command: lists, calls, `run`, outputs that end, `demo`."""
import signal

import pytest

from checked import Checked


@pytest.mark.parametrize("status, pattern, words", [
    (0, "servicemanager.*manager", ["list"]),
    (0, "servicemanager.*IServiceManager/default", ["list", "--device", "hwbinder"]),
    (0, '"name": "manager"', ["list", "--json"]),
    (0, "android.os.IServiceManager", ["ping", "manager"]),
    (0, "reply of", ["call", "manager", "1", "s16", "manager"]),
    (0, '"size"', ["call", "manager", "1", "s16", "manager", "--json"]),
    (7, "", ["call", "manager", "9999", "i32", "-5"]),
    (0, "reply of", ["call", "manager", "1", "--", "s16", "--json"]),
    (0, "binder *servicemanager", ["ps"]),
    (0, '"command": "servicemanager"', ["ps", "--json"])],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "")
def test_services(present, status, pattern, words):
    present(status, pattern, *words)


# ---- run ----------------------------------------------------------------------------------------

def test_run(present):
    anybinder = present.command.program
    present(7, "", "run", "--", "sh", "-c", "exit 7")
    present(0, "/dev/binderfs/vndbinder", "run", "--", "readlink", "-f", "/dev/vndbinder")
    present(0, "^zero", "run", "--", "sh", "-c", "head -c 4 /dev/urandom >/dev/null; ls /dev")
    present(0, "manager", "run", "--", anybinder, "list")
    # A program lasts as long as it wants.
    present(0, "", "run", "--", "sleep", "1.2", environment={"ANYBINDER_TIMEOUT": "1"})


def test_run_configures_libgbinder(present):
    """What is installed is not looked at: the test has its own."""
    library = "mount -t tmpfs tmpfs /usr/local/lib; >/usr/local/lib/libgbinder.so.1; "
    configuration = "mount -t tmpfs tmpfs /etc; echo \"[Protocol]\n/dev/binder = aidl2\" " \
                    ">/etc/gbinder.conf; "
    show = "$A run -- cat /etc/gbinder.conf"
    text = present.shell(0, "^/dev/hwbinder = hidl$", f"unshare -m sh -ec '{library}{show}'")
    assert "\n/dev/binder = aidl3\n/dev/binderfs/binder = aidl3\n" in text, text
    text = present.shell(0, "^/dev/binder = aidl6$", f"unshare -m sh -ec '{configuration}{show}'")
    assert "/dev/binder = aidl2\n" in text and "/dev/binderfs/binder = aidl2\n" in text, text


def test_run_is_private(system):
    system(0, "up at", "up")
    system(0, "", "run", "--", "true")
    system(1, "^$", "-q", " /dev/binder ", "/proc/self/mountinfo", program="grep")


def test_run_of_a_measurement(present):
    present(0, r"^\| x +\| +[0-9]", "run", "--", present.command.program, "bench", "throughput",
            "--device", "x=/dev/vndbinder", "--peers", "pipe", "--pairs", "2", "--sizes", "0",
            "--rounds", "1", "--duration-ms", "20")


# ---- outputs that end ---------------------------------------------------------------------------

@pytest.mark.parametrize("words", [
    "list", "ps", "status", "bench throughput --peers pipe --calls 9", "--help", "list --help"])
def test_a_closed_pipe_is_no_error(present, words):
    present.shell(0, "^$", f"$A {words} 2>&1 | true")


def test_a_closed_pipe_ends_a_demo(present):
    present.shell(0, "^$", "$A demo --calls 9000000 | head -0")


@pytest.mark.parametrize("words", ["list", "demo --calls 9000000"])
def test_a_full_disk_ends_a_command(present, words):
    present.shell(1, "writing the output: No space left", f"$A {words} 2>&1 >/dev/full")


# ---- demo ---------------------------------------------------------------------------------------

def test_demo(own_bus):
    check = Checked(own_bus)
    check(0, "all steps passed", "demo", "--calls", "200")
    check(0, '"ok": true', "demo", "--calls", "200", "--json")


def test_an_interrupt_ends_a_demo(absent):
    with absent.command.started("demo", "--calls", "9000000") as demo:
        while "service manager" not in demo.stdout.readline():
            pass
        demo.send_signal(signal.SIGTERM)
        said = demo.communicate()[0]
    assert demo.returncode == 130 and "Interrupted" in said, said


def test_demo_needs_no_mount(absent):
    absent(0, "all steps passed", "demo", "--calls", "200")
