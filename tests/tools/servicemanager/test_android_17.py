# SPDX-License-Identifier: GPL-2.0
"""What clients of Android 17 ask the service manager for: the access of others, native names."""
import pytest
from anybinder.driver import Bytes, Failed
from anybinder.parcel import Parcel
from anybinder.process import run_child, until
from anybinder.servicemanager import (BAD_TYPE, BAD_VALUE, CODES, DESCRIPTOR, ILLEGAL_ARGUMENT,
                                      NOT_ENOUGH_DATA, SECURITY, UNEXPECTED_NULL, Client,
                                      put_access)

NAME = "anybinder.test"
USER = 3900007


def ask_for_access(path):
    """By one who may find these names, of itself and of others."""
    client = Client(path)
    assert client.access(NAME, uid=USER) == 0 and client.access(NAME, uid=0) == 0
    assert client.access(NAME, uid=USER + 1) == SECURITY
    # What it may not do itself it does not learn of others.
    assert client.access(NAME, uid=0, permission="add") == SECURITY
    assert client.access(NAME, uid=0, permission="list") == SECURITY


def test_access_of_others(new_bus, rules_of):
    """checkServiceAccess, by user; tests of contexts are those of the rules themselves."""
    rules = rules_of('[global]\nlist = { uid = [0] }\n[[rule]]\nname = "anybinder.*"\n'
                     f'add = {{ uid = [0] }}\nfind = {{ uid = [0, {USER}] }}\n')
    with new_bus("--policy", str(rules)) as other:
        client = Client(other.path())
        for permission, wanted in ("find", 0), ("add", SECURITY), ("list", SECURITY):
            assert client.access(NAME, uid=0, permission=permission) == 0
            assert client.access(NAME, uid=USER, permission=permission) == wanted
        assert client.access("other") == SECURITY
        run_child(ask_for_access, other.path(), uid=USER)
        until(lambda: f"do not let user {USER + 1} in the context u:r:app:s0 find" in other.log())


@pytest.mark.parametrize("wrong, wanted", [
    ({"sid": ""}, SECURITY), ({"name": ""}, SECURITY), ({"permission": ""}, SECURITY),
    ({"permission": "own"}, ILLEGAL_ARGUMENT), ({"permission": "Find"}, ILLEGAL_ARGUMENT)], ids=str)
def test_access_that_cannot_be_asked_for(manager, wrong, wanted):
    assert Client(manager.path()).access(**{"name": NAME, **wrong}) == wanted


@pytest.mark.parametrize("size, wanted", [
    (-1, BAD_VALUE), (3, BAD_VALUE), (1 << 30, NOT_ENOUGH_DATA)], ids=str)
def test_a_parcelable_whose_size_lies(manager, size, wanted):
    def fill(parcel):
        return parcel.i32(1).i32(size).string("sid").i32(1).i32(0).string(NAME).string("find")

    client = Client(manager.path())
    for what, status in (fill, wanted), (lambda parcel: parcel.i32(0), UNEXPECTED_NULL):
        with pytest.raises(Failed) as failed:
            client.ask("access", what)
        assert failed.value.args[0] == status
    assert client.access(NAME) == 0


def test_access_cut_short_at_every_byte(manager):
    client = Client(manager.path())
    whole = put_access(Parcel(client.level, DESCRIPTOR, client.word), NAME).data
    for size in range(len(whole)):
        with pytest.raises(Failed) as failed:
            client.send_to_manager(CODES[client.level]["access"], Bytes(whole[:size]))
        assert failed.value.args[0] in (BAD_TYPE, NOT_ENOUGH_DATA), size
    assert client.access(NAME) == 0


def test_a_parcelable_of_another_version(manager):
    """Of an older one, fields that are missing have their defaults; of a newer one, those that are
    too many are skipped."""
    def ask(who):
        reply = Client(manager.path()).ask("access", lambda p: p.i32(1).i32(4 + len(who)).raw(
            who).string(NAME).string("find"))
        return reply.i32()

    assert ask(b"") == SECURITY    # the security context is empty
    assert ask(Parcel().string("sid").data) == 0
    assert ask(Parcel().string("sid").i32(1).i32(0).string("newer").data) == 0


def look_up_statsbootstrap(path):
    assert Client(path).find("statsbootstrap", "check2") is None


def test_what_every_process_of_android_17_looks_up(new_bus, rules_of):
    """By its first call, which is answered at once, whatever the level and the rules, and logged
    nowhere."""
    with new_bus("--level", "30", "--policy", str(rules_of(""))) as other:
        before = other.log()
        run_child(look_up_statsbootstrap, other.path())
        assert other.log() == before


def test_native_names(new_bus, rules_of):
    """A native service is declared with the name of its library in place of an interface."""
    rules = rules_of('[[rule]]\nname = "mapper/*"\nfind = "any"\n'
                     '[[service]]\nname = "mapper/one"\n[[service]]\nname = "mapper/two"\n')
    with new_bus("--policy", str(rules)) as other:
        client = Client(other.path())
        for name, wanted in ("mapper/one", 1), ("mapper/none", 0), ("mapper", SECURITY):
            reply = client.ask("declared", lambda p, name=name: p.string(name))
            assert reply.i32() == min(wanted, 0) and (wanted < 0 or reply.i32() == wanted), name
        reply = client.ask("instances", lambda p: p.string("mapper"))
        assert [reply.i32(), reply.i32(), reply.string(), reply.string()] == [0, 2, "one", "two"]
