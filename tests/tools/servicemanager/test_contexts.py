# SPDX-License-Identifier: GPL-2.0
"""Rules by security context (--contexts), with clients in several domains of SELinux: where
tests/kernel/selinux/domains.cil is loaded (tests/kernel/selinux/inside)."""
import os
import pathlib
import signal

import pytest
from anybinder import hidl
from anybinder.bus import Bus
from anybinder.driver import Failed
from anybinder.process import enter_context, ready_child, run_child, until
from anybinder.servicemanager import LEVELS, SECURITY, SERVICE, Client

pytestmark = pytest.mark.vm
LIGHT = "android.hardware.light@2.0::ILight"
# Nothing names the domain `stranger`; `kernel` is this process and those of the harness.
RULES = f"""
[[rule]]
context = ["u:r:app:s0"]
add = ["anybinder.rules.*", "{LIGHT}/*"]
find = ["anybinder.rules.own", "{LIGHT}/*"]

[[rule]]
context = ["u:r:oth*"]
find = ["anybinder.rules.*", "{LIGHT}/*"]
list = true

[[rule]]
context = ["u:r:kernel:s0"]
find = ["*"]
list = true
"""
OWN = "u:r:kernel:s0"
ADDER, FINDER, STRANGER = (f"u:r:{name}:s0" for name in ("app", "other", "stranger"))


def own_context():
    try:
        return pathlib.Path("/proc/self/attr/current").read_text(encoding="ascii").strip("\0\n ")
    except OSError:
        return None


@pytest.fixture(scope="module")
def manager(tmp_path_factory):
    """A bus with these rules: of the kernel's driver, where there is one."""
    if own_context() != OWN:
        pytest.skip("the policy of tests/kernel/selinux is not loaded")
    rules = tmp_path_factory.mktemp("rules") / "contexts.toml"
    rules.write_text(RULES, encoding="ascii")
    driver = "kernel" if os.path.exists("/dev/binderfs/binder") else "daemon"
    with Bus("--contexts", str(rules), managers="binder,hwbinder", driver=driver) as bus:
        bus.rules = rules
        yield bus


def serve(ready, path, level):
    client = Client(path, level)
    assert client.add(f"anybinder.rules.{level}") == 0
    assert client.add(f"other.{level}") == SECURITY
    ready()
    client.serve_until_killed()


def add(client, name):
    """What add() returns; the oldest levels get it as a status."""
    try:
        return client.add(name)
    except Failed as failed:
        return failed.args[0]


def is_refused_list(client):
    reply = client.ask("list", lambda p: p.i32(15))
    return reply.i32() == SECURITY


def use_as_finder(path, level):
    client = Client(path, level)
    assert client.add("anybinder.rules.mine") == SECURITY
    assert client.find(f"anybinder.rules.{level}") is not None
    assert client.find("anybinder.rules.mine") is None
    assert f"anybinder.rules.{level}" in client.names()
    assert "manager" not in client.names()
    assert client.watch_name(f"anybinder.rules.{level}") == 0
    assert client.watch_name("other.x") == SECURITY


def use_as_adder(path, level):
    """It may add these names and not find them, but for one; nor list."""
    client = Client(path, level)
    assert client.add("anybinder.rules.own") == 0
    assert client.find("anybinder.rules.own") is not None
    assert client.find(f"anybinder.rules.{level}") is None
    assert is_refused_list(client)


def use_as_stranger(path, level):
    client = Client(path, level)
    for name in (f"anybinder.rules.{level}", "anybinder.rules.x", "x"):
        assert client.add(name) == SECURITY
        assert client.find(name) is None
        assert client.watch_name(name) == SECURITY
    assert is_refused_list(client)


def test_one_adds_and_another_finds(manager):
    for level in ("30", "36"):
        with ready_child(serve, manager.path(), level, context=ADDER):
            run_child(use_as_finder, manager.path(), level, context=FINDER)
            run_child(use_as_adder, manager.path(), level, context=ADDER)
            run_child(use_as_stranger, manager.path(), level, context=STRANGER)
    until(lambda: f"in the context {STRANGER}: " in manager.log())


def add_in_turn(path):
    """What counts is the context in which the device was opened."""
    before = Client(path, "36")
    assert before.add("anybinder.rules.turn") == 0
    enter_context(STRANGER)
    assert before.add("anybinder.rules.turn") == 0
    after = Client(path, "36")
    assert after.add("anybinder.rules.turn") == SECURITY


def test_a_process_that_changes_its_context(manager):
    run_child(add_in_turn, manager.path(), context=ADDER)


def test_every_level(manager):
    """A context arrives with the requests of clients of each level."""
    def add_as(path, level, wanted):
        assert add(Client(path, level), "anybinder.rules.level") == wanted

    for level in LEVELS:
        run_child(add_as, manager.path(), level, 0, context=ADDER)
        run_child(add_as, manager.path(), level, SECURITY, context=FINDER)


def serve_hidl(ready, path):
    client = hidl.Client(path, [LIGHT, hidl.BASE])
    assert client.add("one", SERVICE, client.chain)
    ready()
    client.serve_until_killed()


def use_hidl(path, may_find):
    client = hidl.Client(path, [LIGHT, hidl.BASE])
    assert not client.add("two", SERVICE, client.chain)
    assert (client.get(LIGHT, "one") is not None) == may_find
    assert (f"{LIGHT}/one" in client.names()) == may_find


def test_hidl(manager):
    path = manager.path("hwbinder")
    with ready_child(serve_hidl, path, context=ADDER):
        run_child(use_hidl, path, True, context=FINDER)
        run_child(use_hidl, path, False, context=STRANGER)


def test_rules_that_change(manager):
    """Read again on SIGHUP: the next request of an open that is already known is judged by them."""
    def use(ready):
        client = Client(manager.path())
        assert client.add("anybinder.rules.changing") == SECURITY
        ready()
        until(lambda: client.add("anybinder.rules.changing") == 0)

    with ready_child(use, context=STRANGER) as pid:
        manager.rules.write_text(RULES.replace("app", "stranger"), encoding="ascii")
        os.kill(manager.manager_pid(), signal.SIGHUP)
        assert os.waitpid(pid, 0)[1] == 0
    manager.rules.write_text(RULES, encoding="ascii")
    os.kill(manager.manager_pid(), signal.SIGHUP)
    until(lambda: manager.log().count("the rules were read again") == 2)
