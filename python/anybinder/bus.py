# SPDX-License-Identifier: Apache-2.0
"""`anybinder up`: a driver and its service managers, in a mount and a state directory of a test."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any

from . import process
from .call import Command

DEVICES = ("binder", "hwbinder", "vndbinder")


class Bus(Command):
    """A private bus, as a context: a daemon, or an instance of the kernel's binderfs.

    options: for `anybinder up`
    managers: the devices that get a service manager, separated by commas
    driver: "daemon"; "kernel" for an instance of binderfs; or the directory with the devices of a
        kernel that is already mounted
    before: words before the program, of a command that runs it
    """

    def __init__(self, *options: str, managers: str = "binder,vndbinder", driver: str = "daemon",
                 before: tuple[str, ...] = (), program: str | None = None):
        # Other users may have to reach the mount.
        self.directory = tempfile.mkdtemp(prefix="anybinder-bus-")
        os.chmod(self.directory, 0o755)
        self.options = options
        self.managers = managers
        self.driver = driver
        mount = driver if driver.startswith("/") else f"{self.directory}/mount"
        super().__init__(mount, f"{self.directory}/state", before, program)

    @property
    def is_kernel(self) -> bool:
        return self.driver != "daemon"

    def __enter__(self) -> "Bus":
        if self.driver == "kernel":
            self._mount()
        mode = () if self.is_kernel else ("--mode", "0666")
        self.run("up", *mode, "--managers", self.managers, *self.options)
        return self

    def _mount(self) -> None:
        os.mkdir(self.mount)
        subprocess.run(["mount", "-t", "binder", "-o", "stats=global", "binder", self.mount],
                       check=True)
        for name in DEVICES:
            os.chmod(self.path(name), 0o666)

    def __exit__(self, *_: Any) -> None:
        self.outcome("down")
        if self.driver == "kernel":
            subprocess.run(["umount", self.mount], check=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def status(self) -> Any:
        """What `anybinder status` knows; it may say that something is wrong."""

        return json.loads(self.execute(self.program, "--json", "status").stdout)

    def manager_pid(self, device: str | None = None) -> int:
        """The process of the service manager of a device, by default of the first one."""
        wanted = device or self.managers.split(",", maxsplit=1)[0]
        return next(one["pid"] for one in self.status()["managers"] if wanted in one["device"])

    def server_pid(self) -> int:
        """The process of the daemon that serves the devices."""
        text = pathlib.Path(self.mount, "binder_logs/daemon").read_text(encoding="utf-8")
        found = re.search(r"^server: (\d+)$", text, re.M)
        assert found, text
        return int(found[1])

    def log(self) -> str:
        """What the service managers have logged."""
        logs = pathlib.Path(self.state_dir).glob("*manager.log")
        return "".join(log.read_text(encoding="utf-8") for log in logs)

    def wait_for(self, name: str, device: str = "binder") -> None:
        """Waits until a service is registered."""
        self.run("--timeout", str(process.PATIENCE_S), "wait", name, "--device", device)
