# SPDX-License-Identifier: GPL-2.0
"""Services of one machine on another one: `anybinder export` and `anybinder link`.

  link_test.py ANYBINDER    the program; TEST=NAME runs one test

The two machines are two mounts, each with a daemon and a service manager, in network namespaces of
their own with a cable between them; both in this one's where none can be made.
"""
import contextlib
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import peer
from peer import BYTES, CALL_BACK, COUNT, COUNTED, ECHO, OPEN, SLEEP, Failed, Peer

ANYBINDER = os.path.abspath(sys.argv[1])
NAME, OTHER = "anybinder.test.IEcho/default", "anybinder.test.IEcho/other"
PORT = 7443
INVALID_OPERATION, PERMISSION_DENIED = -38, -1
CLONE_NEWNET = 0x40000000
FDS_NOT_ALLOWED = -2147483641
# Of frames and parcels: the driver's limit is about a megabyte.
CUTS, LIES = 40, 40


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


class Machine:
    """A daemon, a service manager and, if there are namespaces, a network."""

    def __init__(self, directory, name, address):
        self.directory = pathlib.Path(directory, name)
        self.directory.mkdir()
        self.address = address
        self.jobs = []
        self.holder = None
        self.enter = []
        self.command = [ANYBINDER, "--mount", f"{self.directory}/mount", "--state-dir",
                        f"{self.directory}/state"]
        self.device = f"{self.directory}/mount/binder"

    def unshare(self):
        """Gives the machine a network of its own; fails where that cannot be done."""
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "1000"],
                                       stderr=subprocess.DEVNULL)
        own = os.stat("/proc/self/ns/net").st_ino
        path = f"/proc/{self.holder.pid}/ns/net"
        until(lambda: self.holder.poll() is not None or os.stat(path).st_ino != own, 10)
        if self.holder.poll() is not None:
            raise OSError("no network namespace")
        self.enter = ["nsenter", f"--net={path}"]
        self.do("ip", "link", "set", "lo", "up")

    def do(self, *words):
        subprocess.run([*self.enter, *words], check=True)

    def run(self, *words):
        """Runs a command to its end; returns its status and output."""
        done = subprocess.run([*self.enter, *self.command, *words], text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def start(self, words, ready=None):
        """Starts a job; waits for a text on its output. Returns it."""
        log = self.directory / f"{len(self.jobs)}.log"
        with open(log, "wb") as output:
            job = subprocess.Popen([*self.enter, *words], stdout=output, stderr=output)
        job.log = log
        self.jobs.append(job)
        if ready:
            until(lambda: ready in log.read_text() or job.poll() is not None)
            assert job.poll() is None, log.read_text()
        return job

    def anybinder(self, *words, ready=None):
        return self.start([*self.command, *words], ready)

    def echo(self, *names, level=peer.LEVEL):
        """Starts the echo service."""
        return self.start([sys.executable, peer.__file__, self.device, level, *names], "ready")

    def stop(self):
        for job in self.jobs:
            if job.poll() is None:
                job.kill()
                job.wait()
        self.run("down")
        if self.holder:
            self.holder.kill()
            self.holder.wait()

    def peer(self, level=peer.LEVEL):
        return Peer(self.device, level)


def end(*jobs):
    for job in jobs:
        job.terminate()
        job.wait()


class World:
    """A server's machine and a client's."""

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="anybinder-link-")
        self.server = Machine(self.directory, "server", "127.0.0.1")
        self.client = Machine(self.directory, "client", "127.0.0.1")
        self.has_cable = False
        try:
            self.lay_cable()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"one network for both machines: {error}")
        for machine in (self.server, self.client):
            code, text = machine.run("up")
            assert code == 0, text
        self.keys()
        return self

    def lay_cable(self):
        machines = (self.server, self.client)
        for machine in machines:
            machine.unshare()
        ends = ("type", "veth", "peer", "name", "cable", "netns", str(self.client.holder.pid))
        self.server.do("ip", "link", "add", "cable", *ends)
        for number, machine in enumerate(machines, 1):
            machine.address = f"10.9.8.{number}"
            machine.do("ip", "address", "add", f"{machine.address}/24", "dev", "cable")
            machine.do("ip", "link", "set", "cable", "up")
        self.has_cable = True

    def __exit__(self, *_):
        for machine in (self.client, self.server):
            machine.stop()
        subprocess.run(["rm", "-rf", self.directory], check=False)

    def path(self, name):
        return f"{self.directory}/{name}"

    def openssl(self, *words):
        done = subprocess.run(["openssl", *words], check=True, text=True, cwd=self.directory,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout

    def keys(self):
        """Certificates: self-signed ones, an authority and what it signed."""
        for name in ("server", "client", "stranger", "ca"):
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                         f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
        for name in ("signed-server", "signed-client"):
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                         "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out",
                         f"{name}.csr")
            pathlib.Path(self.path("names")).write_text(
                "basicConstraints=CA:FALSE\nsubjectAltName=DNS:other.machine\n",
                encoding="utf-8")
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey",
                         "ca.key", "-CAcreateserial", "-days", "2", "-out", f"{name}.pem",
                         "-extfile", "names")

    def fingerprint(self, name):
        text = self.openssl("x509", "-in", f"{name}.pem", "-noout", "-fingerprint", "-sha256")
        return text.strip().split("=")[1]

    def own(self, name):
        return ["--cert", self.path(f"{name}.pem"), "--key", self.path(f"{name}.key")]

    @property
    def tls(self):
        return f"tls://{self.server.address}:{PORT}"

    def export(self, *options, names=(NAME,), rules=None, listen=None, ready="exported at"):
        """Exports with the certificate `server` to the certificate `client`."""
        rules = rules or f"cert={self.fingerprint('client')} *\n"
        pathlib.Path(self.path("rules")).write_text(rules, encoding="utf-8")
        words = ["export", *names, "--listen", listen or self.tls, *options]
        if not listen:
            words += [*self.own("server"), "--allow", self.path("rules")]
        return self.server.anybinder(*words, ready=ready)

    def link_words(self, *options, name=NAME, address=None):
        words = ["link", name, address or self.tls, *options]
        if not address or address.startswith("tls"):
            words += [*self.own("client"), "--pin", self.fingerprint("server")]
        return words

    def link(self, *options, ready="linked to", **where):
        return self.client.anybinder(*self.link_words(*options, **where), ready=ready)

    @contextlib.contextmanager
    def linked(self, *options, exported=()):
        """A service, its export and a link; gives a client and its handle."""
        jobs = [self.server.echo(NAME), self.export(*exported), self.link(*options)]
        client = self.client.peer()
        try:
            yield client, client.find(NAME)
        finally:
            client.close()
            end(*reversed(jobs))


def refused(call, status):
    try:
        call()
    except Failed as why:
        assert why.args[0] == status, f"status {why.args[0]}, wanted {status}"
        return
    raise AssertionError("it was not refused")


def test_plain_parcels(world):
    with world.linked() as (client, echo):
        for size in (0, 4, 8, 12, 60, 4096, 4100, 100000, 1000000):
            data = random.Random(size).randbytes(size)
            reply, _ = client.call(echo, ECHO, data)
            assert reply == data, size
        # Not what it looks like: types of objects, and a present binder of RPC.
        words = struct.pack("<12I", peer.HANDLE, 0, 5, 0, 6, 0, 1, 1, 7, 0, 12, 0)
        assert client.call(echo, ECHO, words)[0] == words
        for _ in range(50):
            client.call(echo, COUNT, flags=peer.TF_ONE_WAY)
        until(lambda: client.call(echo, COUNTED)[0] == struct.pack("<i", 50))
        refused(lambda: client.call(echo, 99), -74)


def test_binders(world):
    """A binder comes back as what it was, and can be called on the way."""
    with world.linked() as (client, echo):
        own = peer.binder(0x5000)
        for before in (b"", struct.pack("<3i", 7, -1, 30)):
            reply, objects = client.call(echo, ECHO, before + own, [len(before)])
            kind, _, pointer, _ = struct.unpack_from("<IIQQ", reply, len(before))
            assert objects == (len(before),) and kind == peer.BINDER and pointer == 0x5000
        assert client.call(echo, CALL_BACK, own, [0])[0] == struct.pack("<i", 1042)
        two = peer.binder(0x5000) + peer.binder(0x6000)
        reply, objects = client.call(echo, ECHO, two, [0, 28])
        pointers = [struct.unpack_from("<Q", reply, at + 8)[0] for at in objects]
        assert pointers == [0x5000, 0x6000]
        # The service itself, sent to itself, comes back as the same handle.
        itself = struct.pack("<IIQQI", peer.HANDLE, 0, echo, 0, 0x0C)
        reply, objects = client.call(echo, ECHO, itself, [0])
        assert struct.unpack_from("<IIQ", reply)[::2] == (peer.HANDLE, echo) and objects


def test_what_cannot_cross_is_refused(world):
    with world.linked("--max-size", "50000") as (client, echo):
        null = os.open("/dev/null", os.O_RDONLY)
        file = struct.pack("<IIQQ", peer.FD, 0, null, 0)
        refused(lambda: client.call(echo, ECHO, file, [0]), FDS_NOT_ALLOWED)
        refused(lambda: client.call(echo, ECHO, file + bytes(8), [0]), FDS_NOT_ALLOWED)
        refused(lambda: client.call(echo, OPEN), FDS_NOT_ALLOWED)
        os.close(null)
        client.write_read(struct.pack("<II", peer.raw.BC_ACQUIRE, 0), 0)
        manager = struct.pack("<IIQQI", peer.HANDLE, 0, 0, 0, 0x0C)
        refused(lambda: client.call(echo, ECHO, manager, [0]), PERMISSION_DENIED)
        inside = struct.pack("<2i", 1, 32) + peer.binder(0x5000)
        refused(lambda: client.call(echo, ECHO, inside, [8]), INVALID_OPERATION)
        client.call(echo, ECHO, bytes(49000))
        for call in (ECHO, BYTES):
            data = bytes(51000) if call == ECHO else struct.pack("<i", 51000)
            try:
                client.call(echo, call, data)
                raise AssertionError("a parcel above --max-size crossed")
            except Failed:
                pass
        refused(lambda: client.transact(echo, ECHO, peer.header("another.IFace")), -2147483647)
        text = world.client.jobs[-1].log.read_text()
        assert "a file cannot cross a link" in text, text


def test_death_and_return(world):
    with world.linked() as (client, echo):
        client.watch(echo)
        end(world.server.jobs[-2])
        assert client.wait_death()
        world.server.echo(NAME)
        again = world.client.peer()
        until(lambda: again.find(NAME))
        assert again.call(again.find(NAME), ECHO, b"back")[0] == b"back"
        # A link that is killed is a death, too.
        again.watch(again.find(NAME))
        link = world.client.jobs[-1]
        pids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(link.pid)], text=True,
                              stdout=subprocess.PIPE, check=True).stdout.split()
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)
        assert pids and again.wait_death()
        until(lambda: world.client.peer().find(NAME))
        again.close()


def test_certificates(world):
    jobs = [world.server.echo(NAME), world.export()]
    pin = ["--pin", world.fingerprint("server")]
    link = ["link", NAME, world.tls, "--once", "--patience", "20"]
    wrong = {
        "another server": [*world.own("client"), "--pin", world.fingerprint("stranger")],
        "another authority": [*world.own("client"), "--ca", world.path("ca.pem")],
        "a stranger": [*world.own("stranger"), *pin],
        "no certificate": pin,
    }
    for why, options in wrong.items():
        code, text = world.client.run(*link, *options)
        assert code == 7 and "No link to" in text, f"{why}: {code} {text}"
    log = jobs[-1].log.read_text()
    assert world.fingerprint("stranger") in log, log
    end(*jobs)
    # With an authority, and the name in the certificate.
    words = ["export", NAME, "--listen", world.tls, *world.own("signed-server"), "--ca",
             world.path("ca.pem")]
    jobs = [world.server.echo(NAME), world.server.anybinder(*words, ready="exported at")]
    signed = [*world.own("signed-client"), "--ca", world.path("ca.pem")]
    code, text = world.client.run(*link, *signed)
    assert code == 7, "a certificate for another name is accepted"
    code, text = world.client.run(*link, *world.own("client"), "--ca", world.path("ca.pem"),
                                  "--server-name", "other.machine")
    assert code == 7, "a client that the authority did not sign is accepted"
    named = ["link", NAME, world.tls, *signed, "--server-name", "other.machine"]
    jobs.append(world.client.anybinder(*named, ready="linked to"))
    end(*reversed(jobs))


def test_rules(world):
    """Of two services the rules name one."""
    rules = f"cert={world.fingerprint('client')} {OTHER}\n"
    jobs = [world.server.echo(NAME, OTHER), world.export(names=(NAME, OTHER), rules=rules)]
    jobs += [world.link(name="a", address=f"{world.tls}#{OTHER}"),
             world.link(name="b", address=f"{world.tls}#{NAME}")]
    client = world.client.peer()
    assert client.call(client.find("a"), ECHO, b"word")[0] == b"word"
    refused(lambda: client.call(client.find("b"), ECHO, b"word"), PERMISSION_DENIED)
    client.close()
    code, text = world.client.run(*world.link_words("--once", address=f"{world.tls}#none"))
    assert code == 6 and "has no service none" in text, text
    end(*reversed(jobs))


def test_where_a_service_lives(world):
    with world.linked():
        for words in (["list"], ["ping", NAME], ["call", NAME, str(BYTES), "i32", "8"]):
            code, text = world.client.run(*words)
            assert code == 0 and f"over {world.tls}" in text, text
            code, text = world.client.run(*words, "--json")
            wanted = f'"link": "{world.tls}"' if words[0] != "call" else world.tls
            assert code == 0 and wanted in text, text
        code, text = world.server.run("ping", NAME)
        assert code == 0 and "over" not in text, text


def test_accessor(world):
    """A client of Android 16 connects by itself, one that does not know accessors need not."""
    with world.linked("--accessor") as (client, echo):
        assert client.union(NAME) == 1
        assert client.call(echo, ECHO, b"old!")[0] == b"old!"
        code, text = world.client.run("ping", NAME)
        assert code == 0 and peer.INTERFACE in text, text


def test_only_an_accessor(world):
    """What only an accessor leads to can be called by who knows accessors, and by no others."""
    jobs = [world.server.echo(NAME), world.export(), world.link("--accessor=only")]
    client = world.client.peer()
    assert client.find(NAME) is None and client.union(NAME) == 1
    client.close()
    code, text = world.client.run("list")
    assert code == 0 and f"android.os.IAccessor/{NAME} over {world.tls}" in text, text
    for words in (["ping", NAME], ["call", NAME, str(BYTES), "i32", "8"],
                  ["call", NAME, str(ECHO), "i32", "1", "null", "s16", "text"]):
        code, text = world.client.run(*words)
        assert code == 0 and f"over {world.tls}" in text, text
    assert "8 bytes" in world.client.run("call", NAME, str(BYTES), "i32", "8")[1]
    code, text = world.client.run("call", NAME, str(ECHO), "file", "/dev/null")
    assert code and "cannot be sent to a service that only an accessor" in text, text
    code, text = world.client.run("watch", NAME, "--count", "1")
    assert code == 0 and f"present" in text and f"android.os.IAccessor/{NAME}" in text, text
    end(*reversed(jobs))
    code, text = world.client.run("ping", NAME)
    assert code == 6, text


def test_lost_cable(world):
    if not world.has_cable:
        return "no network namespaces"
    with world.linked("--patience", "2", exported=("--patience", "2")) as (client, echo):
        client.watch(echo)
        world.server.do("ip", "link", "set", "cable", "down")
        assert client.wait_death(90)
        world.server.do("ip", "link", "set", "cable", "up")
        again = world.client.peer()
        until(lambda: again.find(NAME), 90)
        assert again.call(again.find(NAME), ECHO, b"back")[0] == b"back"
        again.close()
    return None


def test_an_answer_that_does_not_come(world):
    """A call that is not answered within --patience ends the link, which is made again."""
    with world.linked("--patience", "1") as (client, echo):
        client.watch(echo)
        try:
            client.call(echo, SLEEP, struct.pack("<i", 5))
            raise AssertionError("there was an answer")
        except Failed:
            pass
        assert client.wait_death()
        until(lambda: world.client.peer().find(NAME))


def silent(address, count):
    """Connections that say nothing, or one byte after another that means nothing."""
    sockets = [socket.create_connection((address, PORT)) for _ in range(count)]
    for one in sockets[::2]:
        one.send(b"\x16\x03")
    return sockets


def test_silent_peers(world):
    """They are cut off, and do not keep others out for longer than --patience."""
    jobs = [world.server.echo(NAME), world.export("--max-connections", "8", "--patience", "1")]
    with contextlib.ExitStack() as stack:
        if world.has_cable:
            space = stack.enter_context(open(f"/proc/{world.client.holder.pid}/ns/net", "rb"))
            own = stack.enter_context(open("/proc/self/ns/net", "rb"))
            assert peer.raw.LIBC.setns(space.fileno(), CLONE_NEWNET) == 0
            try:
                sockets = silent(world.server.address, 30)
            finally:
                peer.raw.LIBC.setns(own.fileno(), CLONE_NEWNET)
        else:
            sockets = silent(world.server.address, 30)
        jobs.append(world.link("--threads", "2"))
        client = world.client.peer()
        assert client.call(client.find(NAME), ECHO, b"word")[0] == b"word"
        client.close()
        for one in sockets:
            one.close()
    end(*reversed(jobs))


class Recorder:
    """A Unix socket in front of another; keeps what the first connection carried, per direction."""

    def __init__(self, path, target):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.target = target
        self.streams = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.listener.accept()
                other = socket.socket(socket.AF_UNIX)
                other.connect(self.target)
                streams = (bytearray(), bytearray())
                self.streams.append(streams)
                for pair, kept in zip(((one, other), (other, one)), streams):
                    threading.Thread(target=self.pump, args=(*pair, kept), daemon=True).start()

    def pump(self, source, sink, kept):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                kept += data
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def lies(stream, seed):
    """The stream cut at some bytes, and with words that are too large, negative or any."""
    numbers = random.Random(seed)
    points = range(len(stream)) if os.environ.get("EVERY_BYTE") else sorted(
        numbers.sample(range(len(stream)), min(CUTS, len(stream))))
    for point in points:
        yield bytes(stream[:point])
    for _ in range(LIES):
        at = numbers.randrange(len(stream) // 4) * 4
        word = numbers.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80",
                               b"\0\0\0\0", b"\1\0\0\0", numbers.randbytes(4)])
        yield bytes(stream[:at]) + word + bytes(stream[at + 4:])


def memory_of(job):
    status = pathlib.Path(f"/proc/{job.pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0])


def record(world):
    """What a link says and is told: connecting, looking up, one call with a binder."""
    server, front = world.path("server.socket"), world.path("front.socket")
    jobs = [world.server.echo(NAME),
            world.export("--patience", "2", listen=f"unix://{server}")]
    recorder = Recorder(front, server)
    link = world.link("--threads", "1", address=f"unix://{front}")
    client = world.client.peer()
    own = peer.binder(0x5000)
    client.call(client.find(NAME), ECHO, own + bytes(8), [0])
    client.call(client.find(NAME), CALL_BACK, own, [0])
    client.close()
    end(link)
    time.sleep(0.2)
    recorder.listener.close()
    return jobs, server, recorder.streams[0]


def test_peers_that_lie(world):
    """Every lie ends its own session at most; the others go on, and nothing grows."""
    jobs, path, (said, told) = record(world)
    export = jobs[-1]
    before = memory_of(export)
    for lie in lies(said, 1):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            one.settimeout(0.05)
            with contextlib.suppress(OSError):
                one.sendall(lie)
                while one.recv(65536):
                    pass
        assert export.poll() is None, export.log.read_text()
    job = world.link(address=f"unix://{path}")
    client = world.client.peer()
    assert client.call(client.find(NAME), ECHO, b"word")[0] == b"word"
    assert memory_of(export) < before + 65536, "the export grew"
    client.close()
    end(job, *reversed(jobs))
    # The same from the server.
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(world.path("liar.socket"))
    listener.listen(64)
    told_lies = list(lies(told, 2))
    chosen = told_lies[::len(told_lies) // 10 or 1]
    for lie in chosen:
        job = world.client.anybinder(*world.link_words(
            "--once", "--patience", "1", "--threads", "1",
            address=f"unix://{world.path('liar.socket')}"))
        one, _ = listener.accept()
        with contextlib.suppress(OSError):
            one.sendall(lie)
        time.sleep(0.05)
        one.close()
        listener.settimeout(0.2)
        with contextlib.suppress(OSError):
            while True:
                listener.accept()[0].close()
        listener.settimeout(None)
        assert job.wait(60) in (6, 7), job.log.read_text()
    listener.close()


def main(names):
    """Runs the tests among these names."""
    tests = [(name, test) for name, test in names.items() if name.startswith("test_")]
    wanted = os.environ.get("TEST")
    passed = failed = skipped = 0
    with World() as world:
        for name, test in tests:
            if wanted and wanted != name:
                continue
            begin = time.monotonic()
            word = "ok    "
            try:
                why = test(world)
                passed += not why
                skipped += bool(why)
                word = f"skipped ({why})" if why else word
            except Exception:    # pylint: disable=broad-except
                traceback.print_exc()
                failed += 1
                word = "FAILED"
                for machine in (world.server, world.client):
                    for job in machine.jobs[-3:]:
                        print(f"{job.args[-8:]}:\n{job.log.read_text()}")
                        if job.poll() is None:
                            end(job)
            print(f"{word} {name} ({time.monotonic() - begin:.1f} s)", flush=True)
    print(f"rpc: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(globals()))
