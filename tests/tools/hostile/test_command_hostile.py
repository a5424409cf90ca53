# SPDX-License-Identifier: GPL-2.0
"""The anybinder command and what other users put in its way.

Two users without names take part: the victim runs the command, the attacker prepares what it
finds. Each test gets an empty directory in which every user may write, as in /tmp.
"""
import contextlib
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import zlib

import pytest
from anybinder.process import LIBC, PATIENCE_S, children_of, until

VICTIM = 54321
ATTACKER = 54322
# No command may take longer, whatever it finds; the machine may be busy.
LIMIT_S = 2 * PATIENCE_S
FUSE_INIT = 26
MS_NOSUID_NODEV = 6
MNT_FORCE_DETACH = 3


class World:
    """A directory of one test, and the processes that it has started."""

    def __init__(self, path, program):
        self.path = path
        self.program = program
        self.processes = []

    def file(self, *names):
        return os.path.join(self.path, *names)

    def become(self, uid):
        """For subprocess: what a process of that user looks like."""
        environment = {"PATH": os.environ["PATH"], "TMPDIR": self.path, "LC_ALL": "C"}
        return {"user": uid, "group": uid, "extra_groups": [], "env": environment, "cwd": "/"}

    def run(self, uid, *arguments):
        """Runs the command; returns its exit status and all its output."""
        done = subprocess.run([self.program, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT_S, check=False, **self.become(uid))
        return done.returncode, done.stdout

    def done(self, uid, *arguments):
        """The output of a command that has to succeed."""
        status, text = self.run(uid, *arguments)
        assert status == 0, text
        return text

    def shell(self, uid, script):
        """Prepares something as that user."""
        subprocess.run(["sh", "-ec", "umask 022; " + script], check=True, timeout=LIMIT_S,
                       **self.become(uid))

    def start(self, uid, *command):
        process = subprocess.Popen(command, **self.become(uid))
        self.processes.append(process)
        return process

    def end(self):
        """Ends what a test that failed has left, too: a daemon ends with its mount."""
        for process in self.processes:
            process.kill()
            process.wait()
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounts = [line.split()[4] for line in file]
        for mount in mounts:
            if mount.startswith(self.path + "/"):
                LIBC.umount2(mount.encode(), MNT_FORCE_DETACH)


@pytest.fixture
def world(reachable):
    """See World."""
    path = tempfile.mkdtemp(prefix="anybinder-hostile-")
    os.chmod(path, 0o1777)
    made = World(path, reachable)
    yield made
    made.end()
    shutil.rmtree(path, ignore_errors=True)


# Exit statuses: failed, nothing is mounted, the daemon does not answer, the time was over.
REFUSALS = (1, 3, 4, 9)


def check_refused(outcome, *wanted):
    """The command must fail by itself, and say what is wrong and what to do."""
    status, text = outcome
    assert status in REFUSALS, (status, text)
    for pattern in wanted:
        assert re.search(pattern, text), (f"no {pattern!r} in:", text)


def start_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def record_of(mount, process):
    """What `anybinder up` would have written if `process` were its daemon."""
    daemon = {"pid": process.pid, "start_ticks": start_ticks(process.pid)}
    managers = [{"device": "binder", "process": daemon}]
    return json.dumps({"mount": mount, "daemon": daemon, "managers": managers, "private": False,
                       "made_directory": False})


def state_names(mount):
    """The names of a record, now and before it was escaped."""
    plain = mount.lstrip("/").replace("/", "-")
    escaped = mount.lstrip("/").replace("-", r"\x2d").replace("/", "-")
    return {plain, escaped}


def plant_record(world, uid, directory, mount, process):
    for name in state_names(mount):
        path = os.path.join(directory, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(record_of(mount, process))
        os.chown(path, uid, uid)
    os.chmod(directory, 0o755)


def default_directory(world):
    """Where the victim's files are if it has no XDG_RUNTIME_DIR."""
    return world.file(f"anybinder-{VICTIM}")


def test_forged_record_in_the_default_directory(world):
    base = default_directory(world)
    world.shell(ATTACKER, f"mkdir -p {base}/anybinder-state")
    process = world.start(VICTIM, "sleep", "600")
    plant_record(world, ATTACKER, f"{base}/anybinder-state", f"{base}/anybinder", process)
    outcome = world.run(VICTIM, "down")
    assert process.poll() is None, "the forged record ended a process of the victim"
    check_refused(outcome, f"belongs to user {ATTACKER}", "--state-dir")
    for command in ("status", "list", "up"):
        check_refused(world.run(VICTIM, command), f"belongs to user {ATTACKER}")
    assert process.poll() is None, "a process of the victim has ended"


def test_forged_record_under_a_directory_that_is_the_victims(world):
    """An attacker's directory can also be above one of the victim's own."""
    world.shell(ATTACKER, f"mkdir {world.file('above')}; chmod 777 {world.file('above')}")
    world.shell(VICTIM, f"mkdir {world.file('above', 'state')}")
    outcome = world.run(VICTIM, "--state-dir", world.file("above", "state"), "down")
    check_refused(outcome, f"belongs to user {ATTACKER}")


def test_directory_that_others_can_write(world):
    state = world.file("state")
    world.shell(VICTIM, f"mkdir {state}; chmod 777 {state}")
    process = world.start(VICTIM, "sleep", "600")
    plant_record(world, ATTACKER, state, world.file("mount"), process)
    os.chmod(state, 0o777)
    arguments = ("--state-dir", state, "--mount", world.file("mount"))
    outcome = world.run(VICTIM, *arguments, "down")
    assert process.poll() is None, "the forged record ended a process of the victim"
    check_refused(outcome, "Other users can write", "chmod go-w")


def test_symlink_in_place_of_the_default_directory(world):
    """The attacker points the directory at one that belongs to the victim."""
    world.shell(VICTIM, f"mkdir {world.file('private')}")
    world.shell(ATTACKER, f"ln -s {world.file('private')} {default_directory(world)}")
    check_refused(world.run(VICTIM, "up"), "symbolic link", "XDG_RUNTIME_DIR")
    assert not os.listdir(world.file("private")), "something was written through the link"


def test_symlinks_in_place_of_logs(world):
    """Root starts a daemon with records in a directory that an attacker has prepared."""
    state, mount = world.file("state"), world.file("mount")
    os.mkdir(mount)
    precious = world.file("precious")
    world.shell(0, f"echo kept >{precious}; chmod 600 {precious}")
    links = [f"{name}.{suffix}" for name in state_names(mount)
             for suffix in ("json", "pid", "daemon.log", "manager.log")]
    world.shell(ATTACKER, f"mkdir {state}; cd {state}; for name in {shlex.join(links)}; "
                f"do ln -s {precious} \"$name\"; done")
    outcome = world.run(0, "--state-dir", state, "--mount", mount, "up")
    world.run(0, "--state-dir", state, "--mount", mount, "down")
    with open(precious, encoding="utf-8") as file:
        assert file.read() == "kept\n", "a file of root was overwritten"
    check_refused(outcome, f"belongs to user {ATTACKER}")


def test_symlinks_that_the_victim_left(world):
    """A link in a directory of the user's own is not written through either, nor read."""
    state, mount = world.file("state"), world.file("mount")
    precious = world.file("precious")
    names = state_names(mount)
    script = f"umask 077; mkdir {state}; echo kept >{precious}; cd {state}; "
    script += "; ".join(f"ln -s {precious} '{name}.{suffix}'" for name in names
                        for suffix in ("pid", "daemon.log", "manager.log"))
    world.shell(0, script)
    arguments = ("--state-dir", state, "--mount", mount)
    world.run(0, *arguments, "up")
    world.run(0, *arguments, "down")
    with open(precious, encoding="utf-8") as file:
        assert file.read() == "kept\n", "a file was overwritten through a link"


def test_fifo_in_place_of_a_record(world):
    state, mount = world.file("state"), world.file("mount")
    names = shlex.join(name + ".json" for name in state_names(mount))
    world.shell(VICTIM, f"umask 077; mkdir {state}; cd {state}; mkfifo {names}")
    outcome = world.run(VICTIM, "--state-dir", state, "--mount", mount, "status")
    check_refused(outcome, "not a plain file", "rm ")


# The commands that write a file, each with the words before its path.
WRITERS = [("report", "--output"), ("doctor", "--bundle"), ("graph", "--output"),
           ("trace", "--seconds", "1", "--record"), ("trace", "--seconds", "1", "--perfetto")]


def test_files_that_others_prepared(world):
    """What root writes goes into no file, link or FIFO of another user, and is nobody else's."""
    arguments = ("--state-dir", world.file("state"), "--mount", world.file("mount"))
    own, precious = world.file("own"), world.file("precious")
    world.shell(0, f"echo kept >{precious}")
    world.shell(ATTACKER, f"cd {world.path}; umask 0; echo theirs >file; mkfifo fifo; "
                f"ln -s {precious} link")
    world.done(0, *arguments, "up", "--managers", "binder")
    try:
        for words in WRITERS:
            for name in ("file", "fifo", "link"):
                status, text = world.run(0, *arguments, *words, world.file(name))
                assert status and "it is not written" in text, (words, name, status, text)
            world.shell(0, f"echo old >{own}; chmod 666 {own}; ln {own} {own}.old")
            world.run(0, *arguments, *words, own)
            assert not os.path.samefile(own, f"{own}.old"), words
            assert not os.stat(own).st_mode & 0o022, words
            world.shell(0, f"test $(cat {own}.old) = old; rm {own} {own}.old")
    finally:
        world.run(0, *arguments, "down")
    for name, text in (("file", "theirs\n"), ("precious", "kept\n")):
        with open(world.file(name), encoding="utf-8") as file:
            assert file.read() == text
    assert not [name for name in os.listdir(world.path) if name.startswith(".anybinder")]


# Of a recording, as postcard writes them: a thread receives a call; one sends a call.
RECEIVED = bytes([1, 2, 6, 1, 7])
SENT = bytes([1, 2, 4, 0, 7, 12, 40, 60, 0, 0, 3, 16])


@pytest.mark.parametrize("item", [RECEIVED, SENT], ids=["received", "sent"])
def test_recording_that_unpacks_to_much(world, item):
    """It is read as a stream: what it is packed of takes no memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(item * ((4 << 20) // len(item))) + packer.flush()
    with open(world.file("recording"), "wb") as file:
        file.write(b"anybinder events 3\n" + (struct.pack("<I", len(block)) + block) * 6)
    done = subprocess.run(["prlimit", f"--data={256 << 20}", world.program, "trace", "--summary",
                           "--from", file.name], capture_output=True, text=True, check=False)
    # It has no end.
    assert done.returncode == 1 and "is cut short" in done.stderr, done


def test_mount_in_a_directory_of_another_user(world):
    """The attacker could exchange the directory between the check and the mount."""
    world.shell(ATTACKER, f"mkdir {world.file('theirs')}")
    state = world.file("state")
    mount = world.file("theirs", "mount")
    outcome = world.run(0, "--state-dir", state, "--mount", mount, "up")
    world.run(0, "--state-dir", state, "--mount", mount, "down")
    check_refused(outcome, f"belongs to user {ATTACKER}", "--mount")
    assert not os.path.exists(mount), "a directory was made there"


def test_record_that_names_a_process_which_is_no_daemon(world):
    """As after a restart of the system, when pid and start time happen to be those of another."""
    state, mount = world.file("state"), world.file("mount")
    world.shell(VICTIM, f"umask 077; mkdir {state}")
    process = world.start(VICTIM, "sleep", "600")
    plant_record(world, VICTIM, state, mount, process)
    world.run(VICTIM, "--state-dir", state, "--mount", mount, "down")
    assert process.poll() is None, "a process that is no daemon was ended"


def test_records_of_two_mounts_differ(world):
    """DIR/a-b and DIR/a/b had the same record, so that `down` of one ended the other."""
    os.mkdir(world.file("a"))
    state = ("--state-dir", world.file("state"))
    first, second = world.file("a-b"), world.file("a", "b")
    status, text = world.run(0, *state, "--mount", first, "up", "--managers", "")
    assert status == 0, text
    try:
        assert world.run(0, *state, "--mount", second, "down")[0] == 3
        status, text = world.run(0, *state, "--mount", first, "status")
        assert status == 0, ("the other daemon was ended:", text)
    finally:
        world.run(0, *state, "--mount", first, "down")


@contextlib.contextmanager
def mount_without_answers(path, take_requests):
    """A FUSE mount whose daemon answers INIT and nothing else; with `take_requests` it reads the
    requests, so that their callers cannot be killed."""
    os.mkdir(path)
    fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    if LIBC.mount(b"anybinder", path.encode(), b"fuse.anybinder", MS_NOSUID_NODEV,
                  options.encode()):
        raise OSError(ctypes.get_errno(), "mount")
    head = os.read(fd, 1 << 16)
    _, opcode, unique = struct.unpack_from("IIQ", head)
    assert opcode == FUSE_INIT, ("opcode", opcode)
    body = struct.pack("IIIIHHIIHHIII24x", 7, 31, 0, 0, 0, 0, 1 << 16, 1, 0, 0, 0, 0, 0)[:64]
    os.write(fd, struct.pack("IiQ", 16 + len(body), 0, unique) + body)

    def read_requests():
        with contextlib.suppress(OSError):
            while os.read(fd, 1 << 16):
                pass

    if take_requests:
        threading.Thread(target=read_requests, daemon=True).start()
    try:
        yield
    finally:
        # Aborts the requests first, which ends the thread above and every caller.
        LIBC.umount2(path.encode(), MNT_FORCE_DETACH)
        os.close(fd)


def check_stuck(world, mount, *command):
    arguments = ("--state-dir", world.file("state"), "--mount", mount)
    check_refused(world.run(0, *arguments, *command), "does not answer", "umount -f -l")


def test_mount_that_reads_no_request(world):
    mount = world.file("mount")
    with mount_without_answers(mount, take_requests=False):
        check_stuck(world, mount, "up")


def test_mount_that_answers_no_request(world):
    mount = world.file("mount")
    with mount_without_answers(mount, take_requests=True):
        for command in (("up",), ("down",), ("ping", "manager"), ("run", "--", "true")):
            check_stuck(world, mount, *command)
        status, text = world.run(0, "--state-dir", world.file("state"), "--mount", mount, "status")
        assert status == 4 and "DOES NOT ANSWER" in text, (status, text)


def test_directory_in_a_mount_that_answers_no_request(world):
    """Nothing is mounted at the path itself; the time limit of the command ends it."""
    outer = world.file("outer")
    with mount_without_answers(outer, take_requests=True):
        arguments = ("--timeout", "3", "--state-dir", os.path.join(outer, "state"),
                     "--mount", world.file("mount"))
        for command in ("status", "up"):
            check_refused(world.run(0, *arguments, command), "did not finish within 3 s")


def daemon_of(world, arguments):
    return json.loads(world.done(0, *arguments, "--json", "status"))


def test_daemon_that_is_stopped(world):
    """A daemon of ours that does not answer: `down` clears it."""
    mount = world.file("mount")
    arguments = ("--state-dir", world.file("state"), "--mount", mount)
    world.done(0, *arguments, "up")
    pid = daemon_of(world, arguments)["daemon"]["pid"]
    try:
        for one in (pid, *children_of(pid)):
            os.kill(one, signal.SIGSTOP)
        status, text = world.run(0, *arguments, "status")
        assert status == 4 and "anybinder down" in text, (status, text)
        check_refused(world.run(0, *arguments, "up"), "does not answer", "anybinder down")
    finally:
        status, text = world.run(0, *arguments, "down")
    assert status == 0, text
    status, text = world.run(0, *arguments, "status")
    assert status == 3, text


def test_service_manager_after_a_crash_of_the_daemon(world):
    """The server process is killed: the service manager begins anew, in the same process."""
    mount = world.file("mount")
    arguments = ("--state-dir", world.file("state"), "--mount", mount)
    world.done(0, *arguments, "up")
    try:
        before = daemon_of(world, arguments)
        for _ in range(2):
            with open(os.path.join(mount, "binder_logs", "daemon"), encoding="utf-8") as file:
                server = re.search(r"^server: (\d+)$", file.read(), re.M)[1]
            os.kill(int(server), signal.SIGKILL)
            until(lambda: world.run(0, *arguments, "ping", "manager")[0] == 0)
        after = daemon_of(world, arguments)
        assert after["managers"] == before["managers"], (before, after)
    finally:
        world.run(0, *arguments, "down")
    assert not os.path.ismount(mount)
