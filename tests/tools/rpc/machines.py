# SPDX-License-Identifier: GPL-2.0
"""Two machines for links: each is a bus, in a network namespace of its own with a cable between
them; both are in this one's where none can be made."""
import contextlib
import os
import pathlib
import socket
import subprocess
import tempfile

from anybinder.bus import Bus
from anybinder.driver import LIBC
from anybinder.process import Program, ready_child, until
from anybinder.service import served

from echo import Peer

NAME, OTHER = "anybinder.test.IEcho/default", "anybinder.test.IEcho/other"
CLONE_NEWNET = 0x40000000


class Fork(contextlib.ExitStack):
    """A function in a process of its own, as a context manager of the kit starts it."""
    end = contextlib.ExitStack.close

    def __init__(self, context):
        super().__init__()
        self.enter_context(context)

    def log(self):
        return ""


class Machine(Bus):
    """A bus and, if there are namespaces, a network."""

    def __init__(self):
        super().__init__(managers="binder")
        self.address = "127.0.0.1"
        self.jobs = []
        self.peers = []
        self.holder = None

    def unshare(self):
        """Gives the machine a network of its own; fails where that cannot be done."""
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"],
                                       stderr=subprocess.DEVNULL)
        own = os.stat("/proc/self/ns/net").st_ino
        path = f"/proc/{self.holder.pid}/ns/net"
        until(lambda: self.holder.poll() is not None or os.stat(path).st_ino != own)
        if self.holder.poll() is not None:
            raise OSError("no network namespace")
        self.before = ["nsenter", f"--net={path}"]
        self.do("ip", "link", "set", "lo", "up")

    def do(self, *words):
        subprocess.run([*self.before, *words], check=True)

    @contextlib.contextmanager
    def network(self):
        """This thread is in the network of the machine."""
        if not self.holder:
            yield
            return
        with open(f"/proc/{self.holder.pid}/ns/net", "rb") as space, \
                open("/proc/self/ns/net", "rb") as own:
            assert LIBC.setns(space.fileno(), CLONE_NEWNET) == 0
            try:
                yield
            finally:
                assert LIBC.setns(own.fileno(), CLONE_NEWNET) == 0

    def keep(self, job):
        """It ends with the test."""
        self.jobs.append(job)
        return job

    def start(self, *words, ready=None, **more):
        """Starts a program; waits until it prints a text. Returns it."""
        program = self.keep(Program([*self.before, *words], env=self.environment, **more))
        return program.wait_for(ready) if ready else program

    def anybinder(self, *words, ready=None, **more):
        return self.start(self.program, *words, ready=ready, **more)

    def echo(self, *names, threads=0, **spoken):
        """Starts the echo service.

        threads: that it has beside its first one
        """
        def make():
            peer = Peer(self.path(), **spoken)
            peer.serve_in_threads(threads)
            return peer
        return self.keep(Fork(served(make, *names)))

    def fork(self, function, *arguments, uid=None):
        """Runs function(ready, ...) in a process of its own."""
        return self.keep(Fork(ready_child(function, *arguments, uid=uid)))

    def peer(self, **spoken):
        """A client, of the newest release by default; it is closed at the end of the test."""
        self.peers.append(Peer(self.path(), **spoken))
        return self.peers[-1]

    def end_jobs(self):
        """Ends what a test has started; prints what it said."""
        while self.peers:
            self.peers.pop().close()
        while self.jobs:
            job = self.jobs.pop()
            print(job.log(), end="")
            job.end()

    def __exit__(self, *_):
        super().__exit__()
        if self.holder:
            self.holder.kill()
            self.holder.wait()


class World:
    """A server's machine and a client's."""

    def __init__(self):
        self.server, self.client = Machine(), Machine()
        self.directory = self.server.directory
        self.stack = contextlib.ExitStack()
        self.has_cable = False
        self.service = self.made = None    # of linked(): the service and the link
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def __enter__(self):
        try:
            self.lay_cable()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"one network for both machines: {error}")
        for machine in (self.server, self.client):
            self.stack.enter_context(machine)
        self.make_keys()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def lay_cable(self):
        for machine in (self.server, self.client):
            machine.unshare()
        ends = ("type", "veth", "peer", "name", "cable", "netns", str(self.client.holder.pid))
        self.server.do("ip", "link", "add", "cable", *ends)
        for number, machine in enumerate((self.server, self.client), 1):
            machine.address = f"10.9.8.{number}"
            machine.do("ip", "address", "add", f"{machine.address}/24", "dev", "cable")
            machine.do("ip", "link", "set", "cable", "up")
        self.has_cable = True

    def path(self, name):
        return f"{self.directory}/{name}"

    def socket_path(self):
        """The path of a socket that is not there yet."""
        return f"{tempfile.mkdtemp(dir=self.directory)}/socket"

    # ---- certificates ----

    def openssl(self, *words):
        done = subprocess.run(["openssl", *words], check=True, text=True, cwd=self.directory,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout

    def make_keys(self):
        """Certificates: self-signed ones, an authority and what it signed."""
        new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for name in ("server", "client", "stranger", "ca"):
            self.openssl(*new, "-x509", "-days", "2", "-subj", f"/CN={name}", "-keyout",
                         f"{name}.key", "-out", f"{name}.pem")
        for name in ("signed-server", "signed-client"):
            self.openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out",
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

    # ---- links ----

    @property
    def tls(self):
        return f"tls://{self.server.address}:{self.port}"

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

    def linked(self, *options, exported=(), **how):
        """A service, its export and a link; gives a client and its handle."""
        self.service = self.server.echo(NAME, **how)
        self.export(*exported)
        self.made = self.link(*options)
        client = self.client.peer()
        return client, client.find(NAME)

    def end_jobs(self):
        self.client.end_jobs()
        self.server.end_jobs()
