# SPDX-License-Identifier: GPL-2.0
"""`make install` and `make uninstall` below a directory, and what was installed there.

The tests of this file run in their order, in one process: the last ones uninstall.
"""
import glob
import os
import re
import subprocess
import tempfile

import pytest
from anybinder.process import in_own_mounts
from building import TOP, environment, variable

pytestmark = [pytest.mark.takes(30), pytest.mark.xdist_group("install")]
PREFIX = "/opt/binder"


class Installation:
    """Below a directory of its own, with a bus of its own."""

    def __init__(self, directory):
        self.dest = os.path.join(directory, "dest")
        self.prefix = self.dest + PREFIX
        self.command = os.path.join(self.prefix, "bin/anybinder")
        self.environment = {**environment(), "ANYBINDER_MOUNT": f"{directory}/mount",
                            "ANYBINDER_STATE_DIR": f"{directory}/state"}

    def run(self, *argv, status=0, **how):
        """Runs a command that ends with @status; returns its output."""
        done = subprocess.run(argv, cwd=TOP, text=True, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              **{"env": self.environment, **how})
        assert status is None or done.returncode == status, done.stdout
        return done.stdout

    def make(self, target, **how):
        """make install, or uninstall."""
        return self.run("make", "--no-print-directory", f"DESTDIR={self.dest}",
                        f"PREFIX={PREFIX}", target, **how)

    def read(self, path):
        """The text of a file below the prefix."""
        with open(os.path.join(self.prefix, path), encoding="utf-8") as file:
            return file.read()


@pytest.fixture(scope="module")
def there(program):
    for path in variable("INSTALL_BIN") + variable("INSTALL_LIBEXEC"):
        program(os.path.basename(path))
    with tempfile.TemporaryDirectory(prefix="install-") as directory:
        installation = Installation(directory)
        installation.make("install")
        yield installation
        if os.path.exists(installation.command):
            installation.run(installation.command, "down", status=None)


def test_one_version(there):
    version, = variable("VERSION")
    for name in ("anybinder", "anybinderd"):
        assert there.run(f"{there.prefix}/bin/{name}", "--version") == f"{name} {version}\n"


def test_wrong_option_of_a_helper(there):
    there.run(f"{there.prefix}/libexec/anybinder/bench-ipc", "--nonsense", status=2)


def test_programs_that_only_the_command_starts_are_found(there):
    there.environment["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    there.run(there.command, "up")
    assert "manager" in there.run(there.command, "list")
    there.run(there.command, "bench", "throughput", "--peers", "pipe", "--calls", "100",
              "--rounds", "1")


def test_install_while_it_runs(there):
    there.make("install")
    assert "manager" in there.run(there.command, "list")
    there.run(there.command, "down")


def test_a_page_for_each_command(there):
    text = there.run(there.command, "--help")
    groups = text[text.index("\nInstance:\n"):text.index("\nOptions:\n")]
    commands = re.findall(r"^  ([a-z]+) ", groups, re.M)
    assert len(commands) > 10
    version, = variable("VERSION")
    for name in commands:
        page = there.read(f"share/man/man1/anybinder-{name}.1")
        assert re.search(r"^\.SH OPTIONS", page, re.M)
        assert f'"anybinder {version}"' in page
    page = there.read("share/man/man8/anybinderd.8")
    assert re.search("max.*procs", page) and f'"anybinder {version}"' in page


def test_completions(there):
    there.run("bash", "-euc", f". {there.prefix}/share/bash-completion/completions/anybinder; "
              "complete -p anybinder")
    assert "compdef" in there.read("share/zsh/site-functions/_anybinder")
    assert "complete -c anybinder" in there.read("share/fish/vendor_completions.d/anybinder.fish")


def test_units_name_the_prefix(there):
    units = glob.glob(f"{there.prefix}/lib/systemd/system/*")
    starts = [line for unit in units for line in there.read(unit).splitlines()
              if line.startswith(f"ExecStart={PREFIX}/")]
    assert len(starts) == 2
    assert f"\nExecStart={PREFIX}/bin/anybinder up" in \
        there.read("lib/systemd/user/anybinder.service")
    there.run("grep", "-r", "@PREFIX@", there.dest, status=1)


def test_pages_name_only_what_was_installed(there):
    top = f"{there.prefix}/share/doc/anybinder"
    assert os.path.exists(f"{top}/README.md")
    for page in glob.glob(f"{top}/**/*.md", recursive=True):
        for target in re.findall(r"\]\(([^)#: ]+)", there.read(page)):
            assert os.path.exists(os.path.join(os.path.dirname(page), target)), (page, target)


@pytest.mark.usefixtures("root")
def test_service_beside_another_daemon(there):
    words = in_own_mounts("packaging/test_service.sh", f"{there.prefix}/libexec/anybinder/service",
                          f"{there.prefix}/bin/anybinderd")
    done = subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr


def test_settings_are_kept(there):
    settings = os.path.join(there.dest, "etc/default/anybinder")
    with open(settings, "a", encoding="utf-8") as file:
        file.write("MODE=0666\n")
    assert "is kept" in there.make("install")
    assert "MODE=0666" in there.read(settings)


def test_uninstall(there):
    there.make("uninstall")
    left = [os.path.join(folder, name) for folder, _, names in os.walk(there.dest)
            for name in names]
    assert left == [os.path.join(there.dest, "etc/default/anybinder")]


def test_uninstall_of_nothing(there):
    assert f"installed nothing at {there.prefix}" in there.make("uninstall", status=None)
