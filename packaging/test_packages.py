# SPDX-License-Identifier: GPL-2.0
"""The packages in clean roots of their distributions. Takes minutes to half an hour each, root, and
the network."""
import glob
import os

import pytest
from building import BUILD, TOP, make

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200), pytest.mark.usefixtures("root")]
PACKAGES = f"{BUILD}/package"


def built(*targets):
    """Makes targets that are no files."""
    complaint = make(*targets)
    assert not complaint, complaint


@pytest.fixture
def tarball():
    """That of this commit."""
    built("dist")
    return max(glob.glob(f"{BUILD}/dist/anybinder-*.tar.xz"), key=os.path.getmtime)


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_deb(suite, release):
    """Installed, used, upgraded under load, removed and purged."""
    built("deb")
    suite([f"{TOP}/packaging/deb/test.sh", PACKAGES, release], timeout=7000)


def test_deb_build(suite, tarball):
    """All packages built without network, twice: both give the same bytes."""
    suite([f"{TOP}/packaging/deb/test_build.sh", PACKAGES, tarball], timeout=7000)


def test_dkms(suite, program):
    """The modules' package installed, loaded and removed in clean Debian roots and in QEMU."""
    program("anybinder-conformance")
    built("package", "build/vm/init")
    suite([f"{TOP}/packaging/dkms/test.sh", PACKAGES], timeout=7000)


@pytest.mark.parametrize("kind", ["rpm", "arch"])
def test_recipe(suite, tarball, kind):
    """Built with Debian's rpmbuild or makepkg, installed into a root, and run."""
    suite([f"{TOP}/packaging/test_recipe.sh", kind, f"{PACKAGES}/{kind}", tarball], timeout=7000)


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_commands_of_the_readme(suite, release):
    """In a bare root."""
    suite([f"{TOP}/scripts/test-bare.sh", release], timeout=7000)
