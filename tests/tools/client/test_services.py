# SPDX-License-Identifier: Apache-2.0
"""The commands about services and processes: dumps, shells, waiting, watching, freezing, reports,
those of Android, and the completion of command lines."""
import json
import os
import re
import resource
import signal
import struct
import subprocess
import time

import pytest
from anybinder import hidl, servicemanager
from anybinder.driver import INTERFACE
from anybinder.parcel import Parcel
from anybinder.process import PATIENCE_S, ready_child, until
from anybinder.service import service
from anybinder.servicemanager import SERVICE

from peers import AIDL, PEER, contains, shell_service


def test_dump_of_a_service(bus):
    pid = bus.json("interface", PEER)["pid"]
    text = bus.run("dump", PEER, "a", "--b")
    assert re.match(r"peer \d+ a,--b\n$", text), text
    document = bus.json("dump", PEER, "x")
    assert (document["name"], document["text"].split()[2]) == (PEER, "x")
    assert pid, "no process"
    bus.run("dump", "absent", status=6)


def test_shell_of_a_service(bus):
    name = "anybinder.test.IShell/default"
    with shell_service(bus, name):
        assert bus.run("shell", name, "echo", "a", "--json") == "a --json\n"
        assert bus.run("shell", name, "cat", input="from\nhere") == "from\nhere"
        for command in "shell", "cmd":
            assert bus.run(command, name, "fail", "3", "it is bad", status=3) == "it is bad\n"
        assert bus.run("cmd", name, "echo", "a", "-l") == "a -l\n"
        document = bus.json("shell", name, "echo", "x")
        assert document == {"result": 0, "output": "x\n", "error": ""}
        contains(bus.run("--timeout", "1", "shell", name, "mute", status=9), "did not finish")
        contains(bus.run("shell", name, "die", status=7), "dead")
    contains(bus.run("shell", PEER, "x", status=7), "has no shell commands")


def test_android_commands(bus):
    listed = ("Currently running services:\n", f"  {PEER}\n")
    contains(bus.run("dumpsys", "-l"), *listed)
    contains(bus.run("cmd", "-l"), *listed)
    link = os.path.join(bus.scratch, "dumpsys")
    os.symlink(bus.program, link)
    contains(bus.execute(link, "-l").stdout, *listed)
    contains(bus.execute(link, "--help").stdout, "Usage: dumpsys [OPTIONS]")
    assert bus.run("service", "check", PEER) == f"Service {PEER}: found\n"
    assert bus.run("service", "check", "nosuch") == "Service nosuch: not found\n"
    line = re.compile(rf"^\d+\t{re.escape(PEER)}: \[anybinder\.test\.IPeer\]$", re.M)
    until(lambda: line.search(bus.run("service", "list")))
    contains(bus.run("service", "list"), "Found ", " services:\n")
    for command in (["dumpsys"], ["dumpsys", "--pid"], ["cmd"]):
        contains(bus.run(*command, "nosuch", status=6), "Can't find service: nosuch\n")
    if not bus.is_kernel:
        contains(bus.run("lshal"), "| All HIDL binderized services",
                 "android.hidl.manager@1.2::IServiceManager/default ")


def test_android_transactions(bus):
    code = str(bus.code("add"))
    call = "service", "call", PEER
    assert bus.run(*call, code, "i32", "2", "i32", "-4") == \
        "Result: Parcel(00000000 fffffffe   '........')\n"
    text = bus.run(*call, str(bus.code("echo")), "s16", "0429")
    contains(text, "Result: Parcel(\n  0x00000000: 00000000 00000004 00340030 00390032 "
             "'........0.4.2.9.'\n  0x00000010: 00000000 ")
    assert bus.json(*call, code, "i32", "1", "i32", "1") == {"size": 8, "hex": "0000000002000000"}
    contains(bus.run(*call, code, "i32", status=2), "The argument type i32 has no value.")
    contains(bus.run(*call, code, "intent", "x", status=2), "intent is not sent.")


def test_cmd_waits_for_its_service(bus):
    name = "anybinder.test.ILater/default"
    waiting = bus.command("cmd", "-w", name, "echo", "a")
    with shell_service(bus, name):
        assert waiting.communicate(timeout=PATIENCE_S)[0] == "a\n"


class Named(servicemanager.Client):
    """Its objects say their interface."""

    def incoming(self, call):
        return Parcel().string("test.INamed") if call.code == INTERFACE else Parcel()


def named_services(bus, names, priority=8):
    """A process with services of these names, as a context."""
    def serve(ready):
        client = Named(bus.path())
        for number, name in enumerate(names):
            assert client.add(name, SERVICE + 16 * number, priority) == 0
        ready()
        client.serve_until_killed()

    return ready_child(serve)


def test_interfaces_of_many_services(bus):
    """More than are asked at a time."""
    with named_services(bus, [f"test.named.{number}" for number in range(100)]):
        assert bus.run("service", "list").count(": [test.INamed]\n") == 100


def test_a_list_is_longer_than_a_buffer(bus):
    names = [f"test.{'long' * 28}.{number}" for number in range(2500)]
    with named_services(bus, names):
        assert set(names) <= {one["name"] for one in bus.json("list")}


@pytest.mark.usefixtures("daemon_only")
def test_dumpsys_asks_for_the_services_once(bus):
    done = bus.execute(bus.program, "trace", "--json", "--service", "manager", "--", bus.program,
                       "dumpsys", "--pid")
    contains(done.stdout, f"DUMP OF SERVICE {PEER}:\n", "DUMP OF SERVICE manager:\n")
    codes = [json.loads(line)["code"] for line in done.stderr.splitlines() if line.startswith("{")]
    assert codes and len(codes) == len(set(codes)), codes


def test_dumpsys_of_services(bus):
    pid = bus.json("interface", PEER)["pid"]
    assert bus.run("dumpsys", "--pid", PEER) == f"{pid}\n"
    threads = bus.run("dumpsys", "--thread", PEER)
    assert re.match(r"Threads in use: \d+/[1-9]\d*\n$", threads), threads
    text = bus.run("dumpsys", "-t", "50", PEER, "a", "--b", "-l")
    assert re.match(r"peer \d+ a,--b,-l\n$", text), text
    text = bus.run("dumpsys", "-T", "50000", "--proto", "--skip", "nosuch,manager")
    contains(text, "  manager\n", f"{'-' * 79}\nDUMP OF SERVICE {PEER}:\npeer ")
    assert re.search(r" --proto\n", text) and "DUMP OF SERVICE manager" not in text, text
    assert re.search(rf"s was the duration of dumpsys {PEER}, ending at: "
                     r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$", text, re.M), text
    assert bus.run("dumpsys", "--stability", PEER) == "system stability\n"
    assert re.match(r"Client PIDs: \d+", bus.run("dumpsys", "--clients", PEER))
    name, critical = "anybinder.test.critical", 1
    with named_services(bus, [name], critical):
        assert bus.run("dumpsys", "-l", "--priority", "CRITICAL").split("\n  ")[1:] == [f"{name}\n"]
    name = "anybinder.test.stopped"
    service = bus.serve(name)
    service.send_signal(signal.SIGSTOP)
    contains(bus.run("dumpsys", "-t", "1"), f"DUMP OF SERVICE {PEER}:\n",
             f"*** SERVICE '{name}' DUMP TIMEOUT (1000ms) EXPIRED ***\n")
    bus.run("dumpsys", "-t", "1", name, status=9)
    assert bus.run("service", "check", name) == f"Service {name}: found\n"


def peak_of(bus, *words):
    """Runs a command; returns its status, what it printed, its errors, and the most memory (KiB)
    of any child of this process so far."""
    done = bus.execute(bus.program, *words)
    return (done.returncode, done.stdout, done.stderr,
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def test_output_without_end(bus):
    name = "anybinder.test.IShell/endless"
    cut = "wrote more than 1000000 bytes"
    bound = ["--max-output", "1000000"]
    # A service that floods its caller can serve one after another.
    with shell_service(bus, name):
        peak_before = peak_of(bus, "check", name)[3]
        for verb, *rest in (["dump", name], ["shell", name, "flood"]):
            status, output, errors, _ = peak_of(bus, verb, *bound, *rest)
            contains(errors, cut, "--max-output")
            assert (status, len(output)) == (7, 1000000)
            status, output, errors, _ = peak_of(bus, "--json", verb, *bound, *rest)
            document = json.loads(output)
            assert (status, len(document["text" if verb == "dump" else "output"])) == (7, 1000000)
            contains(json.loads(errors)["error"]["message"], cut)
            if verb == "dump":
                assert document["cut"] is True
            else:
                assert (document["result"], document["error"]) == (None, "begun")
        # By default as well.
        status, output, errors, peak = peak_of(bus, "--json", "dump", name)
        assert (status, len(json.loads(output)["text"])) == (7, 64 << 20)
        assert peak - peak_before < 1 << 20, f"{peak} KiB"
        # The service lives: what it wrote to was closed, and it goes on.
        contains(bus.run("shell", name, "echo", "still"), "still")


def test_check_and_wait(bus):
    assert bus.json("check", PEER)["descriptor"] == "anybinder.test.IPeer"
    bus.run("check", "absent", status=6)
    contains(bus.run("--timeout", "1", "wait", "absent", status=9), "did not finish within 1 s",
             "No service is registered as absent")
    for words in ("watch", "absent"), ("trace", "--service", "absent"):
        contains(bus.run("--timeout", "1", *words, status=9), "absent")
    waiting = bus.command("wait", "late", "--json")
    time.sleep(0.5)
    bus.serve("late")
    assert json.loads(waiting.communicate(timeout=PATIENCE_S)[0])["name"] == "late"


@pytest.mark.parametrize("words", [[], ["coming"]], ids=["all", "one"])
def test_watch_services(bus, words):
    watching = bus.command("watch", "--json", *words)
    seen = []

    def read_until(*events, name="coming"):
        while not seen or seen[-1]["event"] not in events or seen[-1]["name"] != name:
            line = watching.stdout.readline()
            assert line, f"watch ended: {seen}"
            seen.append(json.loads(line))

    if not words:
        read_until("present", name=PEER)
    else:
        # It says nothing of its start; what it finds later is there already.
        time.sleep(1)
    first = bus.serve("coming")
    read_until("appeared", *(["present"] if words else []))
    assert seen[-1]["pid"] == first.pid
    second = bus.serve("coming")
    read_until("replaced")
    bus.stop(first, second)
    read_until("died")
    assert seen[-1]["pid"] == second.pid


def test_watch_of_a_service_that_restarts(bus):
    """Each line has the process of its service, and new names come although events do not cease."""
    mortal, later = "anybinder.test.mortal", "anybinder.test.later"
    seen = []

    def next_of(name):
        while not seen or seen[-1]["name"] != name:
            line = watching.stdout.readline()
            assert line, f"watch ended: {seen}"
            seen.append(json.loads(line))
        return seen[-1]["event"], seen.pop()["pid"]

    with service(bus.path(), mortal, "test.IMortal", {}) as first:
        watching = bus.command("watch", "--json")
        assert next_of(mortal) == ("present", first.pid)
    assert next_of(mortal) == ("died", first.pid)
    with service(bus.path(), later, "test.ILater", {}) as other:
        found = []
        while not found:
            with service(bus.path(), mortal, "test.IMortal", {}) as one:
                assert next_of(mortal) == ("appeared", one.pid)
            assert next_of(mortal) == ("died", one.pid)
            found = [line for line in seen if line["name"] == later]
        assert (found[0]["event"], found[0]["pid"]) == ("appeared", other.pid)


def test_watch_ends_after_a_count(bus):
    contains(bus.run("watch", PEER, "--count", "1"), "present", PEER)


def test_interface_of_a_service(bus):
    one = bus.json("interface", PEER, "--aidl", AIDL)
    assert (one["descriptor"], one["version"]) == ("anybinder.test.IPeer", None)
    assert one["methods"][0] == {"code": 1, "signature": "add(int a, int b)",
                               "declaration": "int add(int a, int b)"}
    text = bus.run("interface", PEER, "--aidl", AIDL)
    contains(text, "  8  oneway void post(int value)\n", "@nullable ICallback held()\n",
             "void copyRecord(in Record from, out Record to)\n")
    contains(bus.run("interface", "manager"), "android.os.IServiceManager")
    bus.run("interface", "manager", "--aidl", AIDL, status=1)


def test_a_service_forges_no_line(bus):
    """What it says of itself stays in its line, also where that is an error."""
    name = "anybinder.test.forger"
    with service(bus.path(), name, "test.IForger\nmanager is registered: test.IForged", {}):
        for words in (["check"], ["wait"], ["ping"], ["interface"]):
            text = bus.run(*words, name)
            contains(text, r"test.IForger\u000amanager is registered: test.IForged")
            assert "\nmanager" not in text, text
        text = bus.run("interface", name, "--aidl", AIDL, status=1)
        assert "test.IForger" in text and "\nmanager" not in text, text


def test_freeze_a_process(bus):
    name = "anybinder.test.frozen"
    service = bus.serve(name)
    pid = str(service.pid)
    state = bus.json("freeze", pid)
    assert (state["frozen"], state["call_received"]) == (True, False)
    # Looking it up asks it for its interface.
    contains(bus.ask("add", "1", "2", name=name, status=7), "frozen")
    contains(bus.run("unfreeze", pid), "not frozen", "calls to it failed")
    assert bus.ask("add", "1", "2", name=name) == "3"
    code = bus.code("maxConcurrent")
    slow = bus.command("call", "--aidl", AIDL, name, "maxConcurrent", "3000")

    def is_handled():
        with open(f"{bus.mount}/binder_logs/state", encoding="utf-8") as state:
            return re.search(f"incoming transaction .* code {code:x} ", state.read())

    until(is_handled)
    contains(bus.run("freeze", pid, "--wait-ms", "0", status=9), "was not frozen")
    slow.communicate(timeout=PATIENCE_S)
    contains(bus.run("freeze", str(os.getpid()), status=1), "no device of this driver open")


# As bash calls the function of a completion: the script, and a command line up to the cursor.
COMPLETE = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
read -ra COMP_WORDS <<<"$2"
[[ $2 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_anybinder_names anybinder "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


# The same of zsh, with what prints the names in the place of what shows them.
COMPLETE_ZSH = """
compadd() { shift; print -rl -- "$@" }
compdef() {}
source "$1"
words=("${(@s: :)2}") CURRENT=$#words PREFIX=$words[-1]
_anybinder
"""


def completions(bus, path, command):
    """The function that completes a command line by a command with the script in this path."""
    bus.run("generate", bus.scratch)
    with open(f"{bus.scratch}/{path}", encoding="utf-8") as file:
        script = file.read()
    assert "servicemanager" in script
    assert not re.search("demo-service|device-check|addints-client", script), "hidden commands"
    # On a busy machine it may need more than the second that it has.
    environment = {"PATH": f"{os.path.dirname(bus.program)}:{os.environ['PATH']}",
                   "HOME": bus.scratch, "ANYBINDER_TIMEOUT": str(PATIENCE_S)}

    def completed(line):
        done = bus.execute(*command, f"{bus.scratch}/{path}", line, environment=environment)
        assert done.returncode == 0 and done.stderr == "", done
        return [word.split("\t")[0] for word in done.stdout.splitlines()]

    def has(line, *wanted):
        assert set(wanted) <= set(completed(line)), (line, completed(line))

    has("anybinder call ", PEER, "manager")
    has("anybinder top --service anybinder.test", PEER)
    has(f"anybinder call --aidl {AIDL} {PEER} ech", "echo", "echoRecord")
    has("anybinder list --device ", "binder")
    return completed, has


def test_names_of_hidl(bus):
    if bus.is_kernel:
        return
    name = "android.hidl.manager@1.2::IServiceManager/default"
    hidl = ["--device", "hwbinder"]
    contains(bus.run("check", *hidl, name), f"{name} is registered: android.hidl.manager@1.2::I")
    contains(bus.run("wait", *hidl, name), "is registered")
    contains(bus.run("check", *hidl, "a@1.0::I/b", status=6), "No service")
    for words in (["ping", name], ["call", name, "1"], ["watch", name], ["interface", name]):
        contains(bus.run(*words, *hidl, status=2), f"{name} is a service of HIDL")


def test_completions_of_zsh_and_fish(bus):
    completions(bus, "zsh/site-functions/_anybinder", ["zsh", "-f", "-c", COMPLETE_ZSH, "zsh"])
    completed, _ = completions(bus, "fish/vendor_completions.d/anybinder.fish",
                               ["fish", "-c", "source $argv[1]; complete -C $argv[2]"])
    assert "--reply" in completed("anybinder call --")
    assert "complete" not in completed("anybinder ")


def test_completions_of_bash(bus):
    completed, has = completions(bus, "bash-completion/completions/anybinder",
                                 ["bash", "-c", COMPLETE, "bash"])
    has("anybinder list --device=bin", "binder")
    assert "--reply" in completed("anybinder call --")
    assert completed("anybinder gra") == ["graph"]
    if not bus.is_kernel:
        # @ and : divide words.
        has("anybinder ping --device hwbinder android.hidl.manager@1.2::I",
            "IServiceManager/default")
    # Without a driver there are options, and no messages.
    assert "--aidl" in completed("anybinder --mount /nonexistent call ")
    assert "complete" not in completed("anybinder ")


def test_what_a_word_of_a_command_line_names(bus):
    def candidates(line):
        return bus.run("complete", "--", *line.split(" ")).split()

    for line in ("call ", "--json ping ", "dumpsys -t 5 ", "service check ", "watch a ", "cmd "):
        assert PEER in candidates(line), line
    assert candidates("--device binder call a --device bin") == ["binder"]
    assert candidates("list --device=bin") == ["--device=binder"]
    assert "echo" in candidates(f"call {PEER} --aidl {AIDL} ech")
    for line in ("ca", "call -", "call a b ", "link ", "freeze ", "cmd x ", "nosuch "):
        assert candidates(line) == [], line


def test_report_of_everything(bus):
    bus.run("call", PEER, "PING")
    bus.bad_call()
    text = bus.run("report")
    contains(text, "== versions", "== doctor", "== failed transactions", "== binder_logs/state",
             "BR_FAILED_REPLY", "left out: the names of services")
    assert PEER not in text and "client-tests" not in text, text
    assert not re.search(r" u[0-9a-f]{16} ", text), "an address"
    path = os.path.join(bus.scratch, "report")
    bus.run("report", "--output", path, "--include", "services,commands,addresses")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    contains(text, PEER, "client-tests")
    assert re.search(r" u[0-9a-f]{16} ", text), "no address"


def test_a_report_names_methods(bus):
    name = "anybinder.test.named"
    with bus.waiting_call(name) as peer:
        wanted = f" for {peer.pid} client-tests, .*: method maxConcurrent of {name}\n"
        words = "report", "--include", "services,commands", "--aidl", AIDL
        until(lambda: re.search(f"HANGING .*{wanted}", bus.run(*words)))


def test_restarts_are_counted(bus):
    """Of the last minute, where the processes and the services are listed, and in a report."""
    name = "anybinder.test.crashing"
    for _ in range(3):
        with service(bus.path(), name, "test.ICrashing", {}) as one:
            bus.wait_for(name)
        until(lambda: name not in bus.run("list"))
    with service(bus.path(), name, "test.ICrashing", {}) as one:
        bus.wait_for(name)
        rows = {row["pid"]: row["restarts"] for row in bus.json("ps")
                if row["context"] == "binder"}
        assert rows.pop(one.pid) == 3 and set(rows.values()) == {0}, rows
        if "hwbinder" in bus.run("status"):
            found = [row for row in bus.json("ps") if row["context"] == "hwbinder"]
            assert {row["restarts"] for row in found} == {0}
        found = bus.json("top", "--interval-ms", "100")
        assert {row["name"]: row["restarts"] for row in found["services"]}[name] == 3
        assert next(row["restarts"] for row in found["processes"] if row["pid"] == one.pid) == 3
        assert [(mark["mark"], mark["pid"]) for mark in found["marks"]] == [("RESTARTS", one.pid)]
        environment = bus.environment | {"COLUMNS": "120"}
        table = subprocess.run([bus.program, "top", "--once", "--view", "services"],
                               env=environment, capture_output=True, text=True, check=True).stdout
        line = next(line for line in table.splitlines() if name in line)
        assert "RESTARTS" in table and line.split()[-1] == "3", table
        contains(bus.run("report"), f"\n== restarts of services in the last minute\n{one.pid}: 3\n",
                 f"RESTARTS {one.pid}: a service of it was restarted 3 times")


@pytest.mark.usefixtures("daemon_only")
def test_lshal_waits_for_its_service(bus):
    manager = "android.hidl.manager@1.0::IServiceManager"
    contains(bus.run("lshal", "list"), "| All HIDL binderized services", f"{manager}/default ")
    contains(bus.run("lshal", "wait", manager), f"{manager}/default is registered")
    contains(bus.run("--timeout", "1", "lshal", "wait", "a@1.0::INone", status=9), "a@1.0::INone")


LIGHT, LIGHT_2_0 = "android.hardware.light@2.1::ILight", "android.hardware.light@2.0::ILight"


class DebuggedService(hidl.Client):
    """A service of HIDL that says what `debug` brought."""

    def incoming(self, call):
        if call.code == hidl.DESCRIPTOR:
            return hidl.Parcel().i32(0).string(self.chain[0])
        if call.code != hidl.DEBUG:
            return super().incoming(call)
        reader = hidl.Reader(call)
        assert reader.interface() == hidl.BASE
        reader.at += 8    # the size of the handle
        _, files, numbers, fd = struct.unpack("<iiii", reader.buffer())
        reader.at += 32    # the array of its files, which the driver closes with the buffer
        text = f"{files} file, {numbers} numbers, words {reader.strings()}\n"
        os.write(fd, text.encode())
        return hidl.Parcel().i32(0)


def serve_debugged(ready, path):
    client = DebuggedService(path, [LIGHT, LIGHT_2_0, hidl.BASE])
    assert client.add("left", SERVICE, client.chain)
    ready()
    client.serve_until_killed()


@pytest.mark.usefixtures("daemon_only")
def test_lshal_has_a_service_debugged(bus):
    debug = "lshal", "debug"
    with ready_child(serve_debugged, bus.path("hwbinder")):
        expected = "1 file, 0 numbers, words {}\n"
        assert bus.run(*debug, f"{LIGHT}/left") == expected.format([])
        words = ["a b", "--c", "-E"]
        assert bus.run(*debug, f"{LIGHT_2_0}/left", *words) == expected.format(words)
        assert bus.run(*debug, "-E", f"{LIGHT}/left") == expected.format([])
        assert bus.run(*debug, "-E", f"{LIGHT_2_0}/left") == ""
        assert bus.json(*debug, f"{LIGHT}/left")["text"] == expected.format([])
        contains(bus.run(*debug, "--max-output", "3", f"{LIGHT}/left", status=7),
                 "wrote more than 3 bytes")
    contains(bus.run(*debug, LIGHT, status=6), f"{LIGHT}/default")
    # That of the service manager itself.
    contains(bus.run(*debug, "android.hidl.manager@1.0::IServiceManager", status=7), "debug")
