# SPDX-License-Identifier: Apache-2.0
"""Wrong uses of the anybinder command: each says what is wrong, as text and as JSON."""
import json
import re

import pytest


def alike(status, text, *uses):
    """Rows of uses that are answered alike."""
    return [(status, text, arguments) for arguments in uses]


# Exit status, what the message says (a regular expression, in which white space may be a line
# break), arguments. BESIDE: beside a daemon.
ABSENT, BESIDE = (
    [
        (2, "Usage: anybinder", ""),
        (2, "unrecognized subcommand 'frob'", "frob"),
        (2, "unexpected argument '--frob'", "status --frob"),
        (2, "invalid value 'x' for '--timeout", "--timeout x status"),
        (2, "invalid value '-1'", "--timeout=-1 status"),
        (2, "a value is required for '--mount", "status --mount"),
        (2, "required arguments were not provided.*Usage: anybinder ping (?!.*--mount)", "ping"),
        *alike(2, "required arguments were not provided", "call manager", "run", "trace --top 3",
               "trace --payload-bytes 5", "container", "export a", "link a", "dump", "shell",
               "freeze", "top --at 1"),
        (2, "one is no transaction code.*PING", "call service one"),
        (2, "has no reply", "call manager 1 --oneway --reply i32"),
        (2, "--interface is for --aidl, or for a one-way call", "call manager 1 --interface a.b"),
        (2, "There is no argument type u129", "call manager 1 --reply u129"),
        *alike(2, "cannot be used with", "call manager 1 --aidl . --reply i32",
               "trace --tree --summary", "trace --from x --seconds 5", "trace --from x -- true",
               "graph --from x --for 1"),
        (1, "cannot be read", "call manager getService --aidl /nonexistent"),
        (2, "invalid digit", "ping manager --count x"),
        (2, "not a number", "ping manager --interval x"),
        (2, "0 is not in 1..=86400", "dumpsys -t 0 manager"),
        (2, "requires a subcommand", "service"),
        (2, "not a number of seconds", "ping manager --wait=-1"),
        (2, "invalid value 'x' for '--gid", "up --gid x"),
        (2, "invalid digit", "bench throughput --calls x"),
        (2, "unrecognized subcommand 'y'", "bench y"),
        (2, "lasts as long as what it starts", "run --timeout 5 -- true"),
        (2, "lasts as long as what it starts", "servicemanager --timeout 5"),
        (2, "invalid value 'chroot'", "container chroot"),
        (2, "the unit is missing", "trace --slower-than 3"),
        (2, "not a number", "trace --code five5"),
        (2, "invalid value 'some'", "trace --payload=some"),
        (2, "invalid value", "trace --payload --payload-bytes many"),
        (1, "The .aidl files cannot be used", "trace --payload --aidl /nonexistent"),
        (2, "lasts as long as what it starts", "link --timeout 5 a unix:///x"),
        (2, "unknown scheme", "link a http://x"),
        (2, "an address is one of tls://", "link a binder://x"),
        (2, "no SHA-256 fingerprint", "link a tls://x:1 --pin 12"),
        (3, "Nothing is mounted at.*anybinder up", "list"),
        *alike(3, "Nothing is mounted at", "container podman", "ping manager", "call manager 1",
               "ps", "dump manager", "shell manager", "check manager", "wait manager", "watch",
               "interface manager", "freeze 1", "graph", "trace", "run -- true", "servicemanager"),
        (2, "invalid value 'gif'", "graph --format gif"),
        (2, "invalid value 'all'", "report --include all"),
        (1, "writing /nonexistent/x", "report --output /nonexistent/x"),
        (2, "0 is not in 1", "freeze 0"),
        (2, "invalid value 'x'", "unfreeze x"),
        (1, "is not a recording of.*trace --record", "trace --from /dev/null"),
        (1, "cannot be read.*trace --record", "trace --from /nonexistent"),
        (1, "cannot be read: is a directory.*trace --record", "trace --from /tmp"),
        (1, "is not a recording of.*trace --record", "graph --from /dev/null"),
        (1, "is not a recording of.*trace --record", "top --from tools/rules.mk --at 1.5"),
        (2, "A recording has no buffers", "top --from x --sort buffers"),
        (2, "not a number of seconds", "top --from x --at=-1"),
        (3, "Nothing is up at.*--mount", "down"),
        (1, "cannot be a mount", "--mount / up"),
        (1, "/dev/null is not a directory", "--mount /dev/null/x up"),
        (1, "/dev/null is not a directory", "--state-dir /dev/null up"),
        (1, "did not start.*expected an octal number", "up --mode 9"),
        (1, "did not start.*device", "up --devices a/b"),
        (1, "It has: one", "up --devices one"),
        (1, "service manager did not start.*/nonexistent", "up --policy /nonexistent"),
    ],
    [
        (5, "No service manager answers.*Start one", "list --device vndbinder"),
        (5, "No service manager answers", "ping x --device vndbinder"),
        (6, "No service is registered as x.*anybinder list", "ping x"),
        *alike(6, "No service is registered as x", "call x 1", "dump x", "shell x", "check x",
               "interface x"),
        (9, "did not finish within 2 s.*No service is registered as x", "--timeout 2 wait x"),
        (9, "did not finish within 2 s.*No service is registered as x", "--timeout 2 watch x"),
        (9, "did not finish within 2 s.*No service has x/y in its name",
         "--timeout 2 trace --service x/y"),
        (9, "did not finish within 2 s.*No service manager answers",
         "--timeout 2 wait x --device vndbinder"),
        *alike(10, "There is no device.*The mount offers: binder", "watch --device x",
               "call x 1 --oneway --interface a.b --device x", "list --device x",
               "list --device binder-controlx", "up --managers x"),
        (5, "No service manager answers.*Start one", "watch --device vndbinder"),
        (1, "has no device of this driver open", "freeze 1"),
        (1, "has no device of this driver open", "unfreeze 1"),
        (7, "manager has no shell commands", "shell manager x"),
        (7, "does not know this transaction code", "call manager 9999"),
        (6, "No service is registered as x.*anybinder list", "call x 1 --oneway --interface a.b"),
        (5, "No service manager answers.*Start one",
         "call x 1 --oneway --interface a.b --device vndbinder"),
        (2, "There is no argument type u128.*The types are", "call manager 1 u128 5"),
        (2, "The argument type i32 has no value", "call manager 1 i32"),
        (2, "x is not a value of type i32", "call manager 1 i32 x"),
        (2, "not a value of type i32", "call manager 1 i32 99999999999"),
        (2, "maybe is not a value of type bool", "call manager 1 bool maybe"),
        (1, "opening /nonexistent", "call manager 1 fd /nonexistent"),
        (2, "unexpected argument '--frob'", "call manager 1 s16 --frob"),
        (1, "--mode would have no effect.*Leave the options out", "up --mode 600"),
        (127, "/nonexistent cannot be started", "run -- /nonexistent"),
        (126, "/etc cannot be started", "run -- /etc"),
        (2, "Nothing says which server", "link a tls://127.0.0.1:9"),
        (2, "a certificate of this machine", "export a --listen tls://127.0.0.1:9"),
        (1, "reading certificates from /nonexistent", "link a tls://127.0.0.1:9 --ca /nonexistent"),
        (1, "reading /nonexistent", "export a --listen unix:///tmp/x --allow /nonexistent"),
        (2, "is none of cert=FINGERPRINT",
         "export a --listen unix:///tmp/x --allow tools/rules.mk"),
        (2, "names a service", "export a --listen unix:///tmp/x#a"),
        (7, "No link to unix:///nonexistent/x: there is no such socket",
         "link a unix:///nonexistent/x --once"),
        (7, "the name a{32} does not resolve",
         "link a tls://" + 32 * "a" + ":1 --once --pin " + 64 * "0"),
    ])
# What follows these words is for another program.
FOREIGN = (" -- ", " shell ", " dump ")


def check(command, status, text, arguments):
    """The command says it once as text, and once as an error document."""
    words = arguments.split()
    got, said = command.outcome(*words)
    assert got == status and re.search(text, " ".join(said.split())), (got, said)
    is_foreign = any(word in f" {arguments} " for word in FOREIGN)
    done = command.execute(command.program, *(["--json", *words] if is_foreign
                                              else [*words, "--json"]))
    error = json.loads(done.stderr)["error"]
    said = f"{error['message']} {error['advice'] or ''}"
    assert done.returncode == error["exit_status"] == status, done
    assert re.search(text, " ".join(said.split())), said


@pytest.mark.parametrize("status, text, arguments", ABSENT,
                         ids=[one[2] or "none" for one in ABSENT])
def test_wrong_use(absent, status, text, arguments):
    check(absent.command, status, text, arguments)


@pytest.mark.parametrize("status, text, arguments", BESIDE, ids=[one[2] for one in BESIDE])
def test_wrong_use_beside_a_daemon(present, status, text, arguments):
    check(present.command, status, text, arguments)
