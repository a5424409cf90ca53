#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The programs of syzkaller that are kept, on two daemons: one has the devices of the peer, the
other those that the programs have for themselves.

replay_test.py DAEMON DIR CORPUS: DIR has the peer and the player of tests/kernel/syzkaller.
"""
import os
import subprocess
import sys

from daemon_test import Daemon, assert_served, main, server, tests_in

PROGRAMS, CORPUS = sys.argv[2], sys.argv[3]


def programs_end_nothing(directory):
    of_peer, of_programs = (os.path.join(directory, name) for name in ("peer", "programs"))
    os.mkdir(of_peer)
    os.mkdir(of_programs)
    with Daemon(of_peer) as shared, Daemon(of_programs) as own:
        os.symlink(shared.mnt, os.path.join(directory, "fuzz"))
        os.symlink(own.mnt, os.path.join(directory, "binderfs"))
        devices = shared.path("binder"), shared.path("hwbinder")
        with subprocess.Popen([PROGRAMS + "/peer", *devices], stdout=subprocess.PIPE) as peer:
            peer.stdout.readline()
            played = subprocess.run([PROGRAMS + "/play", CORPUS, directory], check=False)
            assert peer.poll() is None, "the peer has ended"
            peer.terminate()
        assert played.returncode == 0, "a program was not played"
        for daemon in shared, own:
            with server(daemon.path("binder")):
                assert_served(daemon)


if __name__ == "__main__":
    sys.exit(main(tests_in(globals())))
