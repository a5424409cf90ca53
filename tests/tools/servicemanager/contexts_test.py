# SPDX-License-Identifier: GPL-2.0
"""Rules by security context (--contexts), with clients in several domains of SELinux: where
tests/kernel/selinux/policy.cil is loaded (tests/kernel/selinux/inside).

  contexts_test.py ANYBINDER    TEST=NAME runs one test
"""
import os
import pathlib
import signal
import sys

import hidl
from harness import (CALLBACK, SERVICE, Failed, Manager, child, enter, process, run, run_tests,
                     until)
from live_test import SECURITY, Client
from parcels import LEVELS

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
ADDER, FINDER, STRANGER = (f"u:r:{name}:s0" for name in ("app", "other", "stranger"))


def serve(notify, path, level):
    client = Client(path, level)
    assert client.add(f"anybinder.rules.{level}") == 0
    assert client.add(f"other.{level}") == SECURITY
    os.write(notify, b"x")
    client.serve_until_killed()


def watch(client, name):
    return client.done("watch", lambda p: p.string(name).binder(CALLBACK))


def add(client, name):
    """What add() returns; the oldest levels get it as a status."""
    try:
        return client.add(name)
    except Failed as failed:
        return failed.args[0]


def is_refused_list(client):
    reply = client.call("list", lambda p: p.int(15))
    return reply.int() == SECURITY


def use_as_finder(_, path, level):
    client = Client(path, level)
    assert client.add("anybinder.rules.mine") == SECURITY
    assert client.find("check", f"anybinder.rules.{level}") is not None
    assert client.find("check", "anybinder.rules.mine") is None
    assert f"anybinder.rules.{level}" in client.listed()
    assert "manager" not in client.listed()
    assert watch(client, f"anybinder.rules.{level}") == 0
    assert watch(client, "other.x") == SECURITY


def use_as_adder(_, path, level):
    """It may add these names and not find them, but for one; nor list."""
    client = Client(path, level)
    assert client.add("anybinder.rules.own") == 0
    assert client.find("check", "anybinder.rules.own") is not None
    assert client.find("check", f"anybinder.rules.{level}") is None
    assert is_refused_list(client)


def use_as_stranger(_, path, level):
    client = Client(path, level)
    for name in (f"anybinder.rules.{level}", "anybinder.rules.x", "x"):
        assert client.add(name) == SECURITY
        assert client.find("check", name) is None
        assert watch(client, name) == SECURITY
    assert is_refused_list(client)


def test_one_adds_and_another_finds(manager):
    for level in ("30", "36"):
        with process(serve, manager.path(), level, context=ADDER):
            run(use_as_finder, manager.path(), level, context=FINDER)
            run(use_as_adder, manager.path(), level, context=ADDER)
            run(use_as_stranger, manager.path(), level, context=STRANGER)
    until(lambda: f"in the context {STRANGER}: " in manager.log())


def add_in_turn(_, path):
    """What counts is the context in which the device was opened."""
    before = Client(path, "36")
    assert before.add("anybinder.rules.turn") == 0
    enter(STRANGER)
    assert before.add("anybinder.rules.turn") == 0
    after = Client(path, "36")
    assert after.add("anybinder.rules.turn") == SECURITY


def test_a_process_that_changes_its_context(manager):
    run(add_in_turn, manager.path(), context=ADDER)


def test_every_level(manager):
    """A context arrives with the requests of clients of each level."""
    def add_as(_, path, level, wanted):
        assert add(Client(path, level), "anybinder.rules.level") == wanted

    for level in LEVELS:
        run(add_as, manager.path(), level, 0, context=ADDER)
        run(add_as, manager.path(), level, SECURITY, context=FINDER)


def serve_hidl(notify, path):
    client = hidl.Client(path)
    client.chain = [LIGHT, hidl.BASE]
    assert client.add("one", SERVICE, client.chain)
    os.write(notify, b"x")
    client.serve_until_killed()


def use_hidl(_, path, may_find):
    client = hidl.Client(path)
    client.chain = [LIGHT, hidl.BASE]
    assert not client.add("two", SERVICE, client.chain)
    assert (client.get(LIGHT, "one") is not None) == may_find
    assert (f"{LIGHT}/one" in client.list()) == may_find


def test_hidl(manager):
    path = manager.path("hwbinder")
    with process(serve_hidl, path, context=ADDER):
        run(use_hidl, path, True, context=FINDER)
        run(use_hidl, path, False, context=STRANGER)


def test_rules_that_change(manager):
    """Read again on SIGHUP: the next request of an open that is already known is judged by them."""
    rules = pathlib.Path(manager.options[1])

    def use(notify, path):
        client = Client(path, "36")
        assert client.add("anybinder.rules.changing") == SECURITY
        os.write(notify, b"x")
        until(lambda: client.add("anybinder.rules.changing") == 0)

    pid, ready = child(use, manager.path(), context=STRANGER)
    assert os.read(ready, 1) == b"x"
    rules.write_text(RULES.replace("app", "stranger"), encoding="ascii")
    os.kill(manager.pid, signal.SIGHUP)
    os.close(ready)
    assert os.waitpid(pid, 0)[1] == 0
    rules.write_text(RULES, encoding="ascii")
    os.kill(manager.pid, signal.SIGHUP)
    until(lambda: manager.log().count("the rules were read again") == 2)


def main():
    rules = pathlib.Path("/run/anybinder-test-contexts.toml")
    rules.write_text(RULES, encoding="ascii")
    manager = Manager("--contexts", str(rules), managers="binder,hwbinder")
    return run_tests("servicemanager by context", globals(), manager)


if __name__ == "__main__":
    sys.exit(main())
