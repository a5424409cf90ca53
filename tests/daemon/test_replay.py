# SPDX-License-Identifier: GPL-2.0
"""The programs of syzkaller that are kept, on two daemons: one has the devices of the peer, the
other those that the programs have for themselves.
"""
import os
import subprocess
import sys

from anybinder.daemon import Daemon
from building import TOP, built
from served import assert_served, server

BUILDS = ("anybinderd-asan",)
SYZKALLER = os.path.join(TOP, "tests/kernel/syzkaller")
PEER = "build/syzkaller/peer"


def test_programs_end_nothing(directory):
    of_peer, of_programs = (os.path.join(directory, name) for name in ("peer", "programs"))
    os.mkdir(of_peer)
    os.mkdir(of_programs)
    with Daemon(of_peer) as shared, Daemon(of_programs) as own:
        os.symlink(shared.mnt, os.path.join(directory, "fuzz"))
        os.symlink(own.mnt, os.path.join(directory, "binderfs"))
        devices = shared.path("binder"), shared.path("hwbinder")
        with subprocess.Popen([built(PEER, PEER), *devices], stdout=subprocess.PIPE) as peer:
            peer.stdout.readline()
            played = subprocess.run([sys.executable, f"{SYZKALLER}/replay.py",
                                     f"{SYZKALLER}/corpus", directory], check=False)
            assert peer.poll() is None, "the peer has ended"
            peer.terminate()
        assert played.returncode == 0, "a program was not played"
        for daemon in shared, own:
            with server(daemon.path("binder")):
                assert_served(daemon)
