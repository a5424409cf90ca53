# SPDX-License-Identifier: GPL-2.0
"""Control groups of both versions, for attacks and for a daemon with little memory."""
import contextlib
import os
import tempfile
import time

ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


class Group:
    """A new group of one controller, removed at the end of the block."""

    controller = ""
    files = ()    # in version 2 and in version 1

    @classmethod
    def _find(cls):
        """The parent directory and the name of the file; None: there is no such controller."""
        for root in ROOTS:
            with contextlib.suppress(OSError):
                with open(os.path.join(root, "cgroup.controllers"), encoding="ascii") as file:
                    if cls.controller == "freezer" or cls.controller in file.read().split():
                        return root, cls.files[0]
        old = os.path.join(ROOTS[0], cls.controller)
        return (old, cls.files[1]) if os.path.exists(os.path.join(old, "cgroup.procs")) else None

    @classmethod
    def exists(cls):
        return os.geteuid() == 0 and cls._find() is not None

    def __enter__(self):
        parent, self.file = self._find()
        self.path = tempfile.mkdtemp(prefix="hostile-", dir=parent)
        self.parent = parent
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
                for pid in file.read().split():
                    self._write(os.path.join(self.parent, "cgroup.procs"), pid)
        for _ in range(1000):    # a process that was killed leaves it as it ends
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
                return
            time.sleep(0.01)
        raise TimeoutError("the control group is not empty")

    @staticmethod
    def _write(path, text):
        with contextlib.suppress(ProcessLookupError):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)

    def can_be_set(self):
        """Version 2 gives a group the files of those controllers only that its parent names."""
        return os.path.exists(os.path.join(self.path, self.file))

    def add(self, pid):
        self._write(os.path.join(self.path, "cgroup.procs"), str(pid))


class Freezer(Group):
    controller = "freezer"
    files = ("cgroup.freeze", "freezer.state")

    def freeze(self, on):
        new = self.file == self.files[0]
        self._write(os.path.join(self.path, self.file),
                    ("1" if on else "0") if new else ("FROZEN" if on else "THAWED"))

    def __exit__(self, *error):
        self.freeze(False)
        super().__exit__(*error)


class Processor(Group):
    controller = "cpu"
    files = ("cpu.max", "cpu.cfs_quota_us")

    def take_away(self):
        """A thousandth is left for all in it."""
        if self.file == self.files[0]:
            self._write(os.path.join(self.path, self.file), "1000 1000000")
        else:
            self._write(os.path.join(self.path, "cpu.cfs_period_us"), "1000000")
            self._write(os.path.join(self.path, self.file), "1000")

    def give_back(self):
        self._write(os.path.join(self.path, self.file),
                    "max" if self.file == self.files[0] else "-1")

    def __exit__(self, *error):
        if self.can_be_set():
            self.give_back()
        super().__exit__(*error)


class Memory(Group):
    controller = "memory"
    files = ("memory.max", "memory.limit_in_bytes")

    def limit(self, size):
        self._write(os.path.join(self.path, self.file), str(size))
